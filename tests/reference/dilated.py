"""ByteNet (Kalchbrenner et al. 2016) in float64, from the paper."""

import math

import numpy as np

from tests.reference.convolution import convolution, linear
from tests.reference.layers import layer_norm


def _relu_of_norm(params, x):
    return np.maximum(layer_norm(params, x, 1e-6), 0.0)


def block(params, x, segments, dilation, is_causal):
    """Return x plus what three normed convolutions make of it."""
    y = linear(params["narrow"], _relu_of_norm(params["narrow_norm"], x))
    y = _relu_of_norm(params["norm"], y)
    y = convolution(params["convolution"], y, segments, dilation, is_causal)
    return x + linear(params["widen"], _relu_of_norm(params["widen_norm"], y))


def _stack(params, x, segments, num_dilations, is_causal):
    for i in range(len(params) - 1):
        dilation = 2 ** (i % num_dilations)
        x = block(params[f"layer_{i}"], x, segments, dilation, is_causal)
    return layer_norm(params["norm"], x, 1e-6)


def _words(table, tokens, segments):
    table = np.float64(table["embedding"])
    return table[tokens] * (segments != 0)[..., None] * math.sqrt(table.shape[1])


def dilated(
    params,
    num_dilations,
    source_tokens,
    decoder_input_tokens,
    source_segments,
    target_segments,
):
    """Return logits [b, t, V]."""
    table = params["token_embedding"]
    memory = _stack(
        params["encoder"],
        _words(table, source_tokens, source_segments),
        source_segments,
        num_dilations,
        is_causal=False,
    )
    x = _words(table, decoder_input_tokens, target_segments)
    for b, t in np.ndindex(x.shape[:2]):
        number = target_segments[b, t]
        source = [s for s, of in enumerate(source_segments[b]) if of == number]
        position = [p for p, of in enumerate(target_segments[b]) if of == number].index(
            t
        )
        if number and position < len(source):
            x[b, t] += memory[b, source[position]]
    x = _stack(params["decoder"], x, target_segments, num_dilations, is_causal=True)
    return x @ np.float64(table["embedding"]).T
