"""Section 3.5, one number at a time."""

import math

import numpy as np


def sinusoid(position, column, d_model, layout):
    """Return one number of the encoding."""
    half = d_model // 2
    if layout == "interleaved":
        pair, is_sine = column // 2, column % 2 == 0
    else:
        pair, is_sine = column % half, column < half
    exponent = pair / (half - 1) if layout == "tensor2tensor" else 2 * pair / d_model
    angle = position / 10000**exponent
    return math.sin(angle) if is_sine else math.cos(angle)


def sinusoids(positions, d_model, layout):
    """Return [b, t, m] for positions [b, t]."""
    output = np.zeros((*positions.shape, d_model))
    for b, t, column in np.ndindex(output.shape):
        output[b, t, column] = sinusoid(positions[b, t], column, d_model, layout)
    return output
