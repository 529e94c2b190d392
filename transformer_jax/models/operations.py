"""Operations of the layers, counted from their sizes: matrix products only.

A product of [m, k] and [k, n] costs 2 m k n operations. Softmax, norms and activations
are left out.
"""

from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.restricted_attention import count_scores


def transformer_flops(
    config: TransformerConfig, source_length: float, target_length: float
) -> float:
    """Count a Transformer's forward pass over one sentence pair.

    Args:
      config: sizes of the model.
      source_length: pieces of the source, EOS counted.
      target_length: pieces of the target, EOS counted.

    Returns:
      Floating point operations.
    """
    decoder_layer = (
        _self_attention_flops(config, target_length, is_causal=True)
        + attention_flops(config, target_length, source_length)
        + _feed_forward_flops(config, target_length)
    )
    logits = 2 * target_length * config.d_model * config.target_vocab_width
    return (
        encoder_flops(config, source_length)
        + config.num_decoder_layers * decoder_layer
        + logits
    )


def encoder_flops(config: TransformerConfig, length: float) -> float:
    """Count the encoder's pass over `length` positions."""
    layer = _self_attention_flops(config, length, is_causal=False)
    layer += _feed_forward_flops(config, length)
    return config.num_encoder_layers * layer


def _self_attention_flops(
    config: TransformerConfig, length: float, is_causal: bool
) -> float:
    scores = count_scores(length, config.reach, is_causal)
    return attention_flops(config, length, length, scores)


def attention_flops(
    config: TransformerConfig,
    query_length: float,
    key_length: float,
    num_scores: float | None = None,
) -> float:
    """Count one multi-head attention (Section 3.2), its four projections included.

    Args:
      config: sizes of the model.
      query_length: positions that look.
      key_length: positions that are looked at; masked ones cost the same.
      num_scores: of a head; None: one of each query with each key.

    Returns:
      Floating point operations.
    """
    key_width = config.num_heads * config.key_depth
    value_width = config.num_heads * config.value_depth
    projected = (query_length + key_length) * (key_width + value_width)
    projections = 2 * projected * config.d_model
    if num_scores is None:
        num_scores = query_length * key_length
    return projections + 2 * num_scores * (key_width + value_width)


def _feed_forward_flops(config: TransformerConfig, length: float) -> float:
    """Count FFN(x) at each of `length` positions (Section 3.3)."""
    return 4 * length * config.d_model * config.d_ff
