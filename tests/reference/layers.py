"""Sections 3.1 and 3.3 in float64: feed-forward, layer norm, residual connections."""

import math

import numpy as np

ACTIVATIONS = {
    "relu": lambda x: max(0.0, x),
    "gelu": lambda x: x * 0.5 * (1.0 + math.erf(x / math.sqrt(2.0))),
    "swish": lambda x: x / (1.0 + math.exp(-x)),
}


def layer_norm(params, x, epsilon):
    """Normalise the last axis of `x` by its mean and population variance."""
    output = np.zeros(x.shape)
    for place in np.ndindex(x.shape[:-1]):
        vector = x[place].astype(float)
        mean = sum(vector) / len(vector)
        variance = sum((vector - mean) ** 2) / len(vector)
        normalised = (vector - mean) / math.sqrt(variance + epsilon)
        output[place] = normalised * params["scale"] + params["bias"]
    return output


def feed_forward(params, x, activation="relu"):
    """Return activation(x W1 + b1) W2 + b2."""
    expand, contract = params["expand"], params["contract"]
    inner = x @ np.float64(expand["kernel"]) + expand["bias"]
    inner = np.vectorize(ACTIVATIONS[activation])(inner)
    return inner @ np.float64(contract["kernel"]) + contract["bias"]


def residual(params, x, sublayer, norm_position="post", epsilon=1e-6):
    """Return LayerNorm(x + Sublayer(x)), or x + Sublayer(LayerNorm(x)) for pre-norm."""
    if norm_position == "pre":
        return x + sublayer(layer_norm(params["norm"], x, epsilon))
    return layer_norm(params["norm"], x + sublayer(x), epsilon)
