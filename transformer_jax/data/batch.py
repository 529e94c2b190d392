"""A batch of sentence pairs: its names and shapes, and how it is filled."""

import flax.struct
import jax
import numpy as np

from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.row_layout import RowLayout
from transformer_jax.data.token_cache import TokenCache
from transformer_jax.data.tokenizer import SpecialIds

Array = jax.Array | np.ndarray


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


def assemble(cache: TokenCache, planned: PlannedBatch, specials: SpecialIds) -> Batch:
    """Fill the arrays of one batch; rows without a pair stay padding of weight zero."""
    rows, source_length, target_length = planned.shape
    pairs, pair_rows = planned.pairs, planned.pair_rows
    source_ids, target_ids = cache.gather(pairs)
    source_lengths, target_lengths = cache.lengths[:, pairs]
    source = RowLayout(source_lengths, pair_rows, (rows, source_length))
    target = RowLayout(target_lengths, pair_rows, (rows, target_length))
    target_tokens = target.place_tokens(target_ids, specials.eos, specials.pad)
    return Batch(
        source_tokens=source.place_tokens(source_ids, specials.eos, specials.pad),
        source_segments=source.place(source.segments),
        source_positions=source.place(source.positions),
        decoder_input_tokens=target.place_shifted(
            target_ids, specials.bos, specials.pad
        ),
        target_tokens=target_tokens,
        target_segments=target.place(target.segments),
        target_positions=target.place(target.positions),
        loss_weights=(target.place(target.segments) > 0).astype(np.float32),
    )
