"""Operations of the layers, counted from their sizes: matrix products only.

A product of [m, k] and [k, n] costs 2 m k n operations. Softmax, norms and activations
are left out.
"""

from transformer_jax.models.configs import TransformerConfig


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
    encoder_layer = attention_flops(
        config, source_length, source_length
    ) + _feed_forward_flops(config, source_length)
    decoder_layer = (
        attention_flops(config, target_length, target_length)
        + attention_flops(config, target_length, source_length)
        + _feed_forward_flops(config, target_length)
    )
    logits = 2 * target_length * config.d_model * config.target_vocab_width
    return (
        config.num_encoder_layers * encoder_layer
        + config.num_decoder_layers * decoder_layer
        + logits
    )


def attention_flops(
    config: TransformerConfig, query_length: float, key_length: float
) -> float:
    """Count one multi-head attention (Section 3.2), its four projections included.

    Args:
      config: sizes of the model.
      query_length: positions that look.
      key_length: positions that are looked at; masked ones cost the same.

    Returns:
      Floating point operations.
    """
    key_width = config.num_heads * config.key_depth
    value_width = config.num_heads * config.value_depth
    projected = (query_length + key_length) * (key_width + value_width)
    projections = 2 * projected * config.d_model
    products = 2 * query_length * key_length * (key_width + value_width)
    return projections + products


def _feed_forward_flops(config: TransformerConfig, length: float) -> float:
    """Count FFN(x) at each of `length` positions (Section 3.3)."""
    return 4 * length * config.d_model * config.d_ff
