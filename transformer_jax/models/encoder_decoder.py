"""What every translation model's call is: an encoder, then a decoder (Section 3.1)."""

import jax

from transformer_jax.models.dropout import DropoutBits
from transformer_jax.models.interface import TranslationModel


def encode_and_decode(
    model: TranslationModel,
    source_tokens: jax.Array,
    decoder_input_tokens: jax.Array,
    *,
    source_segments: jax.Array,
    target_segments: jax.Array,
    source_positions: jax.Array | None = None,
    target_positions: jax.Array | None = None,
    dropout: DropoutBits | None = None,
) -> jax.Array:
    """Do `encode`, then `decode`; a model has this as its `__call__`.

    Args:
      model: that is called.
      source_tokens: [batch, source_length] int32.
      decoder_input_tokens: [batch, target_length] int32, the target shifted right.
      source_segments: [batch, source_length], 0 on padding.
      target_segments: [batch, target_length], likewise.
      source_positions: [batch, source_length]; None means 0, 1, ... in each row.
      target_positions: [batch, target_length], likewise.
      dropout: randomness with `rows` [batch], or None for none.

    Returns:
      logits: [batch, target_length, vocab_width].
    """
    memory = model.encode(
        source_tokens,
        source_segments=source_segments,
        source_positions=source_positions,
        dropout=dropout,
    )
    return model.decode(
        decoder_input_tokens,
        memory,
        source_segments=source_segments,
        target_segments=target_segments,
        target_positions=target_positions,
        dropout=dropout,
    )
