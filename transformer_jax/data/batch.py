"""The names and shapes that every batch has."""

from typing import NamedTuple

import flax.struct
import jax
import numpy as np

Array = jax.Array | np.ndarray


class SpecialIds(NamedTuple):
    """Ids with a meaning of their own, read from the tokenizer."""

    pad: int
    bos: int
    eos: int


@flax.struct.dataclass
class Batch:
    """Sentence pairs in rows of one shape; a row holds one pair or several packed ones.

    Segments number the pairs inside a row from 1 and are 0 on padding; positions count
    from 0 inside each segment. A row of zeros alone fills a batch up to its shape.

    Attributes:
      source_tokens: [batch, source_length] int32, each sentence closed by EOS.
      source_segments: [batch, source_length] int32.
      source_positions: [batch, source_length] int32.
      decoder_input_tokens: [batch, target_length] int32: BOS, then the target shifted
        right by one (Section 3.1).
      target_tokens: [batch, target_length] int32, each sentence closed by EOS.
      target_segments: [batch, target_length] int32.
      target_positions: [batch, target_length] int32.
      loss_weights: [batch, target_length] float32: 1 on real target tokens, else 0.
    """

    source_tokens: Array
    source_segments: Array
    source_positions: Array
    decoder_input_tokens: Array
    target_tokens: Array
    target_segments: Array
    target_positions: Array
    loss_weights: Array
