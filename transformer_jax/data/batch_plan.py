"""Which pairs share a batch, for every step of a training.

All counts are the same in every epoch, so a step's epoch and place follow from its
number, and any step can be the first. What an epoch holds is a pure function of seed,
epoch, lengths and settings; `bucketed_plan.py` and `packed_plan.py` are two of them.
"""

import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from transformer_jax.data.batch_shapes import BatchShape
from transformer_jax.text_table import text_table

# `config.data.batching`: which plan.
Batching = Literal["buckets", "packed"]


@dataclasses.dataclass(frozen=True)
class PlannedBatch:
    """The pairs of one batch and the rows that they lie in.

    Attributes:
      shape: of the batch; rows that no pair names stay empty.
      pairs: [pairs] numbers of the pairs, ordered by row.
      pair_rows: [pairs] the row of each; a row with several pairs is packed.
      seed: what is drawn for this batch follows from it: the plan's seed and the step.
    """

    shape: BatchShape
    pairs: np.ndarray
    pair_rows: np.ndarray
    seed: tuple[int, int] = (0, 0)

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the pairs in each row."""
        rows: list[tuple[int, ...]] = [()] * self.shape.rows
        for row, pair in zip(self.pair_rows.tolist(), self.pairs.tolist(), strict=True):
            rows[row] += (pair,)
        return tuple(rows)


@dataclasses.dataclass(frozen=True)
class Epoch:
    """The batches of one epoch, laid end to end.

    Attributes:
      pairs: [all pairs] in the order of the batches.
      pair_rows: [all pairs] the row of each in its batch.
      starts: [batches + 1] where each batch starts in `pairs`.
      shapes: [batches] number of the shape of each.
      order: [batches] which batch comes at each step.
    """

    pairs: np.ndarray
    pair_rows: np.ndarray
    starts: np.ndarray
    shapes: np.ndarray
    order: np.ndarray


class BatchPlan:
    """The batches of every epoch.

    Attributes:
      shapes: the shapes that batches have, smallest first.
      batches_per_epoch: the same for every epoch.
    """

    def __init__(
        self,
        source_lengths: np.ndarray,
        target_lengths: np.ndarray,
        shapes: Sequence[BatchShape],
        num_batches: Sequence[int],
        plan_epoch: Callable[[int], Epoch],
        seed: int,
    ) -> None:
        """Keep what does not change between epochs.

        Args:
          source_lengths: [pairs] tokens of each source sentence, without special ones.
          target_lengths: [pairs] likewise for the target.
          shapes: from small to large.
          num_batches: of each shape in an epoch.
          plan_epoch: number of an epoch → its batches.
          seed: of whatever is drawn for a batch.
        """
        self.shapes = tuple(shapes)
        self.batches_per_epoch = sum(num_batches)
        self._num_batches = tuple(num_batches)
        self._num_pairs = len(source_lengths)
        self._tokens = (
            int(source_lengths.sum()) + self._num_pairs,
            int(target_lengths.sum()) + self._num_pairs,
        )
        self._plan_epoch = plan_epoch
        self._seed = seed
        self._lock = threading.Lock()
        self._epochs: dict[int, Epoch] = {}

    def batch(self, step: int) -> PlannedBatch:
        """Return the batch of a step; step 0 is the first of epoch 0."""
        number, place = divmod(step, self.batches_per_epoch)
        epoch = self._epoch(number)
        batch = epoch.order[place]
        within = slice(epoch.starts[batch], epoch.starts[batch + 1])
        shape = self.shapes[epoch.shapes[batch]]
        return PlannedBatch(
            shape, epoch.pairs[within], epoch.pair_rows[within], (self._seed, step)
        )

    def first_of_each_shape(
        self, start_step: int, stop_step: int
    ) -> list[PlannedBatch]:
        """Return the first batch of each shape among these steps, in their order.

        Every epoch has all shapes, so this looks at two epochs at most.
        """
        firsts: dict[BatchShape, PlannedBatch] = {}
        num_used = sum(num > 0 for num in self._num_batches)
        stop_step = min(stop_step, start_step + 2 * self.batches_per_epoch)
        for step in range(start_step, stop_step):
            if len(firsts) == num_used:
                break
            planned = self.batch(step)
            firsts.setdefault(planned.shape, planned)
        return list(firsts.values())

    def real_token_share(self) -> tuple[float, float]:
        """Return which share of an epoch's positions are real tokens, EOS counted.

        Returns:
          source: share of all source positions, those of empty rows included.
          target: likewise for the target.
        """
        source, target = self._tokens
        batches = list(zip(self.shapes, self._num_batches, strict=True))
        return (
            source / sum(n * shape.rows * shape.source_length for shape, n in batches),
            target / sum(n * shape.rows * shape.target_length for shape, n in batches),
        )

    def describe(self) -> str:
        """Return a table of the shapes and the share of real tokens."""
        source_share, target_share = self.real_token_share()
        rows = [["rows", "source", "target", "batches"]]
        for shape, n in zip(self.shapes, self._num_batches, strict=True):
            numbers = (shape.rows, shape.source_length, shape.target_length, n)
            rows.append([str(number) for number in numbers])
        return (
            f"{self._num_pairs} pairs in {self.batches_per_epoch} batches an "
            f"epoch, {len(self.shapes)} shapes\nreal tokens: {source_share:.1%} of "
            f"source positions, {target_share:.1%} of target positions\n"
            f"{text_table(rows, right=range(4))}"
        )

    def _epoch(self, number: int) -> Epoch:
        """Return an epoch's plan, keeping the last two for threads that run ahead."""
        with self._lock:
            if number not in self._epochs:
                self._epochs = {
                    n: epoch for n, epoch in self._epochs.items() if n == number - 1
                }
                self._epochs[number] = self._plan_epoch(number)
            return self._epochs[number]
