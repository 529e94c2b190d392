"""Convolution over the positions of a sentence, one number at a time, in float64."""

import math

import numpy as np


def effective_kernel(params):
    """Return [k, in, out]: g v / |v| for each output if there is a g, else v."""
    kernel = np.float64(params["kernel"])
    if "scale" not in params:
        return kernel
    weights = np.zeros(kernel.shape)
    for output in range(kernel.shape[2]):
        v = kernel[:, :, output]
        length = math.sqrt(sum(number**2 for number in v.flat))
        weights[:, :, output] = params["scale"][output] * v / length
    return weights


def convolution(params, x, segments, dilation=1, is_causal=False):
    """Return [b, t, out] for `x` [b, t, in]; nothing is seen across segments."""
    kernel = effective_kernel(params)
    kernel_width, _, num_out = kernel.shape
    middle = kernel_width - 1 if is_causal else kernel_width // 2
    batch, length, _ = x.shape
    output = np.zeros((batch, length, num_out))
    for b, t in np.ndindex(batch, length):
        output[b, t] = params["bias"]
        for place in range(kernel_width):
            seen = t + (place - middle) * dilation
            if place == middle or (
                0 <= seen < length and segments[b, seen] == segments[b, t] != 0
            ):
                output[b, t] += x[b, seen] @ kernel[place]
    return output


def linear(params, x):
    """Return each position mapped alone."""
    return convolution(params, x, np.zeros(x.shape[:2], int))
