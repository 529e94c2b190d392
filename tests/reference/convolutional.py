"""The model of Gehring et al. 2017 in float64, from the paper."""

import math

import numpy as np

from tests.reference.convolution import convolution, linear


def gated(params, x, segments, is_causal):
    """Return A * sigmoid(B) of a convolution's halves A and B."""
    y = convolution(params["convolution"], x, segments, is_causal=is_causal)
    half = y.shape[-1] // 2
    return y[..., :half] / (1.0 + np.exp(-y[..., half:]))


def attention(params, state, embedded, z, e, target_segments, source_segments):
    """Return the conditional input c [b, t, channels] and weights [b, t, s]."""
    query = linear(params["query"], state) + embedded
    batch, target_length, _ = query.shape
    weights = np.zeros((batch, target_length, z.shape[1]))
    context = np.zeros(query.shape)
    for b, t in np.ndindex(batch, target_length):
        number = target_segments[b, t]
        seen = [
            s for s in range(z.shape[1]) if source_segments[b, s] == number and number
        ]
        scores = [math.exp(query[b, t] @ z[b, s]) for s in seen]
        for s, score in zip(seen, scores, strict=True):
            weights[b, t, s] = score / sum(scores)
            context[b, t] += weights[b, t, s] * (z[b, s] + e[b, s])
        if seen:
            m = len(seen)
            context[b, t] *= m * math.sqrt(1.0 / m)
    return linear(params["output"], context), weights


def _embed(table, places, tokens, segments, positions):
    if positions is None:
        positions = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
    table, places = np.float64(table["embedding"]), np.float64(places["embedding"])
    words = table[tokens] * (segments != 0)[..., None]
    return (words + places[positions]) * math.sqrt(table.shape[1]) * 0.1


def convolutional(
    params,
    source_tokens,
    decoder_input_tokens,
    source_segments,
    target_segments,
    source_positions=None,
    target_positions=None,
):
    """Return logits [b, t, V] and each layer's attention weights [b, t, s]."""
    shared = params.get("token_embedding")
    source_table = shared or params["source_embedding"]
    target_table = shared or params["target_embedding"]
    output_table = params.get("output_embedding", target_table)

    def layers(stack):
        return [stack[f"layer_{i}"] for i in range(len(stack) - 2)]

    encoder, decoder = params["encoder"], params["decoder"]
    e = _embed(
        source_table,
        params["source_positions"],
        source_tokens,
        source_segments,
        source_positions,
    )
    x = linear(encoder["from_embeddings"], e)
    for layer in layers(encoder):
        x = (x + gated(layer, x, source_segments, False)) * math.sqrt(0.5)
    z = linear(encoder["to_embeddings"], x)

    embedded = _embed(
        target_table,
        params["target_positions"],
        decoder_input_tokens,
        target_segments,
        target_positions,
    )
    x, all_weights = linear(decoder["from_embeddings"], embedded), []
    for layer in layers(decoder):
        state = gated(layer, x, target_segments, True)
        context, weights = attention(
            layer["cross_attention"],
            state,
            embedded,
            z,
            e,
            target_segments,
            source_segments,
        )
        all_weights.append(weights)
        x = (x + (state + context) * math.sqrt(0.5)) * math.sqrt(0.5)
    x = linear(decoder["to_embeddings"], x)
    return x @ np.float64(output_table["embedding"]).T, all_weights
