"""The whole model of Section 3 in float64, from the paper."""

import numpy as np

from tests.reference.attention import multi_head_attention
from tests.reference.layers import feed_forward, layer_norm, residual
from tests.reference.positions import sinusoids


def visible(query_segments, key_segments, is_causal, reach=None):
    """Return boolean [b, 1, q, k]."""
    batch, num_queries = query_segments.shape
    num_keys = key_segments.shape[1]
    mask = np.zeros((batch, 1, num_queries, num_keys), bool)
    for b, q, k in np.ndindex(batch, num_queries, num_keys):
        is_real = key_segments[b, k] != 0
        is_same = query_segments[b, q] == key_segments[b, k]
        is_near = reach is None or abs(q - k) <= reach
        is_earlier = k <= q or not is_causal
        mask[b, 0, q, k] = is_real and is_same and is_near and is_earlier
    return mask


def _embed(table, params, side, config, tokens, segments, positions):
    """Return scaled embeddings plus positions of one side, [b, t, m]."""
    if positions is None:
        positions = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
    x = np.float64(table["embedding"])[tokens] * np.sqrt(config.d_model)
    x = x * (segments != 0)[..., None]
    if config.positions == "learned":
        x = x + params[f"{side}_positions"]["embedding"][positions]
    elif config.positions == "sinusoidal":
        x = x + sinusoids(positions, config.d_model, config.sinusoid_layout)
    if config.norm_embeddings:
        x = layer_norm(params[f"{side}_norm"], x, config.norm_epsilon)
    return x


def stack(params, config, x, num_layers, sublayers):
    """Apply layers; `sublayers` lists (name, function of parameters and states)."""
    for i in range(num_layers):
        layer = params[f"layer_{i}"]
        for name, function in sublayers:
            x = residual(
                layer[f"{name}_residual"],
                x,
                lambda x, of=layer[name], function=function: function(of, x),
                config.norm_position,
                config.norm_epsilon,
            )
    if config.norm_position == "pre":
        x = layer_norm(params["norm"], x, config.norm_epsilon)
    return x


def transformer(
    params,
    config,
    source_tokens,
    decoder_input_tokens,
    source_segments,
    target_segments,
    source_positions=None,
    target_positions=None,
):
    """Return memory [b, s, m] and logits [b, t, V]."""
    shared = params.get("token_embedding")
    source_table = shared or params["source_embedding"]
    target_table = shared or params["target_embedding"]
    output_table = params.get("output_embedding", target_table)
    source_mask = visible(source_segments, source_segments, False, config.reach)
    target_mask = visible(target_segments, target_segments, True, config.reach)
    cross_mask = visible(target_segments, source_segments, is_causal=False)

    def attend(of, x, looked_at, mask):
        scaling = config.attention_scaling
        return multi_head_attention(of, x, looked_at, mask, scaling)[0]

    def transform(of, x):
        return feed_forward(of, x, config.activation)

    memory = stack(
        params["encoder"],
        config,
        _embed(
            source_table,
            params,
            "source",
            config,
            source_tokens,
            source_segments,
            source_positions,
        ),
        config.num_encoder_layers,
        [
            (
                "self_attention",
                lambda of, x: attend(of, x, x, source_mask),
            ),
            ("feed_forward", transform),
        ],
    )
    x = stack(
        params["decoder"],
        config,
        _embed(
            target_table,
            params,
            "target",
            config,
            decoder_input_tokens,
            target_segments,
            target_positions,
        ),
        config.num_decoder_layers,
        [
            (
                "self_attention",
                lambda of, x: attend(of, x, x, target_mask),
            ),
            (
                "cross_attention",
                lambda of, x: attend(of, x, memory, cross_mask),
            ),
            ("feed_forward", transform),
        ],
    )
    logits = x @ np.float64(output_table["embedding"]).T
    if "logits_bias" in params:
        logits = logits + params["logits_bias"]
    return memory, logits[..., : config.target_vocab_size]
