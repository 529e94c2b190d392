"""From a plan to batches: Grain reads ahead, and any step can be the first."""

import sys
from collections.abc import Iterator

import grain
import numpy as np
from absl import flags

from transformer_jax.data.batch import Batch, SpecialIds
from transformer_jax.data.batch_plan import BatchPlan, PlannedBatch
from transformer_jax.data.token_cache import TokenCache


def make_batches(
    cache: TokenCache,
    plan: BatchPlan,
    *,
    specials: SpecialIds,
    start_step: int = 0,
    num_steps: int | None = None,
    num_threads: int = 2,
    prefetch: int = 8,
) -> Iterator[Batch]:
    """Yield the batches of steps `start_step`, `start_step + 1`, ... as numpy arrays.

    Args:
      cache: tokens.
      plan: of batches over the cache's pairs.
      specials: ids of padding, BOS and EOS.
      start_step: the first step; getting there costs nothing.
      num_steps: how many steps; None goes on for ever.
      num_threads: threads that assemble batches ahead of time; 0 assembles on demand.
      prefetch: batches to keep ready.
    """
    if not flags.FLAGS.is_parsed():  # Grain reads its flags even outside absl.app.
        flags.FLAGS.mark_as_parsed()
    stop = sys.maxsize if num_steps is None else start_step + num_steps
    steps = grain.MapDataset.range(start_step, stop)
    batches = steps.map(lambda step: assemble(cache, plan.batch(int(step)), specials))
    options = grain.ReadOptions(num_threads=num_threads, prefetch_buffer_size=prefetch)
    return iter(batches.to_iter_dataset(options))


def evaluation_batches(
    cache: TokenCache, plan: BatchPlan, *, specials: SpecialIds
) -> Iterator[Batch]:
    """Yield one epoch: every pair of the cache exactly once, always in the same order.

    Sums over real tokens are right whatever the shapes; use a plan of few shapes, since
    each is compiled once more for evaluation.
    """
    for step in range(plan.batches_per_epoch):
        yield assemble(cache, plan.batch(step), specials)


def assemble(cache: TokenCache, planned: PlannedBatch, specials: SpecialIds) -> Batch:
    """Fill the arrays of one batch; rows without a pair stay padding of weight zero."""
    rows, source_length, target_length = planned.shape
    pairs, pair_rows = planned.pairs, planned.pair_rows
    source_ids, target_ids = cache.gather(pairs)
    source = _Layout(cache.source_lengths[pairs], pair_rows, (rows, source_length))
    target = _Layout(cache.target_lengths[pairs], pair_rows, (rows, target_length))
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


class _Layout:
    """Where each token of one side goes: one sentence after the other in its row.

    A sentence of n tokens takes n + 1 places, for EOS or BOS.

    Attributes:
      segments: [places] number of the sentence in its row, from 1.
      positions: [places] number of the place in its sentence, from 0.
    """

    def __init__(
        self, lengths: np.ndarray, rows: np.ndarray, shape: tuple[int, int]
    ) -> None:
        counts = lengths + 1
        stops = np.cumsum(counts)
        starts = stops - counts
        first_of_row = np.searchsorted(rows, rows)
        self.segments = np.repeat(np.arange(len(rows)) - first_of_row + 1, counts)
        self.positions = np.arange(counts.sum()) - np.repeat(starts, counts)
        columns = np.arange(counts.sum()) - np.repeat(starts[first_of_row], counts)
        self._places = np.repeat(rows, counts) * shape[1] + columns
        self._is_first = self.positions == 0
        self._is_last = np.zeros(len(columns), bool)
        self._is_last[stops - 1] = True
        self._shape = shape

    def place(self, values: np.ndarray, padding: int = 0) -> np.ndarray:
        """Return [rows, length] int32 with one value in each place."""
        flat = np.full(self._shape[0] * self._shape[1], padding, np.int32)
        flat[self._places] = values
        return flat.reshape(self._shape)

    def place_tokens(self, ids: np.ndarray, eos: int, pad: int) -> np.ndarray:
        """Place each sentence followed by EOS."""
        values = np.full(len(self._places), eos, np.int32)
        values[~self._is_last] = ids
        return self.place(values, pad)

    def place_shifted(self, ids: np.ndarray, bos: int, pad: int) -> np.ndarray:
        """Place BOS followed by each sentence (Section 3.1)."""
        values = np.full(len(self._places), bos, np.int32)
        values[~self._is_first] = ids
        return self.place(values, pad)
