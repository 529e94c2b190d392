"""Section 3.2, one number at a time, in float64."""

import math

import numpy as np


def attention(query, key, value, mask=None, scaling="sqrt_d_k"):
    """Return output [b, q, h, d_v] and weights [b, h, q, k] (Section 3.2.1).

    query [b, q, h, d_k], key [b, k, h, d_k], value [b, k, h, d_v]; mask boolean,
    broadcastable to [b, h, q, k], True where looking is allowed.
    """
    batch, num_queries, num_heads, d_k = query.shape
    num_keys, d_v = key.shape[1], value.shape[-1]
    shape = (batch, num_heads, num_queries, num_keys)
    mask = np.broadcast_to(True if mask is None else mask, shape)
    weights = np.zeros(shape)
    output = np.zeros((batch, num_queries, num_heads, d_v))
    for b, h, q in np.ndindex(batch, num_heads, num_queries):
        allowed = [k for k in range(num_keys) if mask[b, h, q, k]]
        scores = [
            np.dot(query[b, q, h].astype(float), key[b, k, h].astype(float))
            / (math.sqrt(d_k) if scaling == "sqrt_d_k" else 1.0)
            for k in allowed
        ]
        total = sum(math.exp(score) for score in scores)
        for k, score in zip(allowed, scores, strict=True):
            weights[b, h, q, k] = math.exp(score) / total
            output[b, q, h] += weights[b, h, q, k] * value[b, k, h]
    return output, weights


def multi_head_attention(params, x, looked_at, mask=None, scaling="sqrt_d_k"):
    """Return [b, q, m] and the weights [b, h, q, k] (Section 3.2.2).

    Head i is Attention(Q W_i^Q, K W_i^K, V W_i^V); the heads are put side by side and
    multiplied with W^O. `params` has query, key, value with kernels [m, h, d] and
    output with a kernel [h, d_v, m]; each may have a bias.
    """
    num_heads = params["query"]["kernel"].shape[1]
    heads, weights = [], []
    for h in range(num_heads):
        q, k, v = (
            (states @ np.float64(params[name]["kernel"][:, h]))
            + (params[name]["bias"][h] if "bias" in params[name] else 0.0)
            for name, states in (("query", x), ("key", looked_at), ("value", looked_at))
        )
        one_mask = mask if mask is None or mask.shape[1] == 1 else mask[:, h : h + 1]
        one_head = (part[:, :, None] for part in (q, k, v))
        out, w = attention(*one_head, one_mask, scaling)
        heads.append(out[:, :, 0])
        weights.append(w[:, 0])
    kernel = np.float64(params["output"]["kernel"])
    output = np.concatenate(heads, axis=-1) @ kernel.reshape(-1, kernel.shape[-1])
    if "bias" in params["output"]:
        output = output + params["output"]["bias"]
    return output, np.stack(weights, axis=1)
