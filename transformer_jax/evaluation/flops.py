"""What training costs, counted from the model's sizes: matrix products only.

A product of [m, k] and [k, n] costs 2 m k n operations. Softmax, norms, activations and
the optimizer are left out. The backward pass has two products for each one of the
forward pass, so that training is three times the forward pass.
"""

from transformer_jax.models.configs import TransformerConfig

_TRAINING_FACTOR = 3


def forward_flops(
    config: TransformerConfig, source_length: int, target_length: int
) -> int:
    """Count the forward pass of one sentence pair.

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
    config: TransformerConfig, query_length: int, key_length: int
) -> int:
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


def _feed_forward_flops(config: TransformerConfig, length: int) -> int:
    """Count FFN(x) at each of `length` positions (Section 3.3)."""
    return 4 * length * config.d_model * config.d_ff


def training_flops(
    config: TransformerConfig,
    *,
    num_steps: int,
    tokens_per_batch: int,
    sentence_length: int,
) -> float:
    """Count a whole training on batches of equally long sentences.

    Args:
      config: sizes of the model.
      num_steps: how many updates.
      tokens_per_batch: pieces on each side of a batch.
      sentence_length: pieces of each sentence; it decides the share of attention's
        quadratic part alone.

    Returns:
      Floating point operations.
    """
    pair = step_flops(config, 1, sentence_length, sentence_length)
    return num_steps * tokens_per_batch / sentence_length * pair


def step_flops(
    config: TransformerConfig, num_pairs: int, source_length: int, target_length: int
) -> int:
    """Count one update on a batch [num_pairs, source_length], [.., target_length]."""
    return (
        _TRAINING_FACTOR
        * num_pairs
        * forward_flops(config, source_length, target_length)
    )
