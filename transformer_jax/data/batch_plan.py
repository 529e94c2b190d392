"""Which pairs share a batch: a pure function of seed, lengths and settings.

The paper batches pairs "together by approximate sequence length" (Section 5.1). Here
the shapes are fixed before training, so that XLA compiles each once; every pair goes to
the cheapest shape that holds it. Pairs left over when a shape's batches are cut move up
to a larger shape where that costs less than filling a batch with empty rows. All counts
are the same in every epoch, so a step's epoch and place follow from its number.
"""

import dataclasses
import threading
from collections.abc import Sequence

import numpy as np

from transformer_jax.data.batch_shapes import (
    BatchShape,
    assign_shapes,
    by_cost,
    choose_promotions,
)
from transformer_jax.text_table import text_table


@dataclasses.dataclass(frozen=True)
class PlannedBatch:
    """The pairs of one batch and the rows that they lie in.

    Attributes:
      shape: of the batch; rows that no pair names stay empty.
      pairs: [pairs] numbers of the pairs, ordered by row.
      pair_rows: [pairs] the row of each; a row with several pairs is packed.
    """

    shape: BatchShape
    pairs: np.ndarray
    pair_rows: np.ndarray

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the pairs in each row."""
        rows: list[tuple[int, ...]] = [()] * self.shape.rows
        for row, pair in zip(self.pair_rows.tolist(), self.pairs.tolist(), strict=True):
            rows[row] += (pair,)
        return tuple(rows)


@dataclasses.dataclass(frozen=True)
class _Epoch:
    """The batches of one epoch, laid end to end.

    Attributes:
      pairs: [all pairs] in the order of the batches.
      starts: [batches + 1] where each batch starts in `pairs`.
      shapes: [batches] number of the shape of each.
      order: [batches] which batch comes at each step.
    """

    pairs: np.ndarray
    starts: np.ndarray
    shapes: np.ndarray
    order: np.ndarray


class BatchPlan:
    """The batches of every epoch, by bucketed length.

    Attributes:
      shapes: the shapes that batches have, smallest first.
      batches_per_epoch: the same for every epoch.
    """

    def __init__(
        self,
        source_lengths: np.ndarray,
        target_lengths: np.ndarray,
        shapes: Sequence[BatchShape],
        *,
        seed: int,
    ) -> None:
        """Assign every pair to a shape.

        Args:
          source_lengths: [pairs] tokens of each source sentence, without special ones.
          target_lengths: [pairs] likewise for the target.
          shapes: from `choose_shapes`; one of them must hold the longest of both sides.
          seed: of the order of pairs and batches.
        """
        # A shape that holds another has the larger sum, so leftovers always move right.
        self.shapes = tuple(sorted(shapes, key=by_cost))
        self._seed = seed
        self._tokens = (
            int(source_lengths.sum()) + len(source_lengths),
            int(target_lengths.sum()) + len(target_lengths),
        )
        self._assigned = assign_shapes(source_lengths, target_lengths, self.shapes)
        counts = np.bincount(self._assigned, minlength=len(self.shapes)).tolist()
        self._promoted, self._num_batches, _ = choose_promotions(self.shapes, counts)
        self.batches_per_epoch = sum(self._num_batches)
        self._lock = threading.Lock()
        self._epochs: dict[int, _Epoch] = {}

    def batch(self, step: int) -> PlannedBatch:
        """Return the batch of a step; step 0 is the first of epoch 0."""
        epoch, place = divmod(step, self.batches_per_epoch)
        plan = self._epoch(epoch)
        number = plan.order[place]
        pairs = plan.pairs[plan.starts[number] : plan.starts[number + 1]]
        shape = self.shapes[plan.shapes[number]]
        return PlannedBatch(shape, pairs, np.arange(len(pairs)))

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
            f"{len(self._assigned)} pairs in {self.batches_per_epoch} batches an "
            f"epoch, {len(self.shapes)} shapes; real tokens: {source_share:.1%} of "
            f"source positions, {target_share:.1%} of target positions\n"
            f"{text_table(rows, right=range(4))}"
        )

    def _epoch(self, epoch: int) -> _Epoch:
        """Return an epoch's plan, keeping the last two for threads that run ahead."""
        with self._lock:
            if epoch not in self._epochs:
                self._epochs = {e: p for e, p in self._epochs.items() if e == epoch - 1}
                self._epochs[epoch] = self._plan_epoch(epoch)
            return self._epochs[epoch]

    def _plan_epoch(self, epoch: int) -> _Epoch:
        """Shuffle the pairs within each shape, cut batches, shuffle the batches."""
        keys = _random_keys(self._seed, epoch, len(self._assigned))
        shuffled = np.argsort(keys, kind="stable")
        by_shape = shuffled[np.argsort(self._assigned[shuffled], kind="stable")]
        counts = np.bincount(self._assigned, minlength=len(self.shapes))
        groups = [[group] for group in np.split(by_shape, np.cumsum(counts)[:-1])]
        pairs, sizes, shapes = [], [], []
        for i, (shape, num_batches) in enumerate(
            zip(self.shapes, self._num_batches, strict=True)
        ):
            # Pairs moved up come first: a pair is moved twice only if all others fit.
            members = np.concatenate(groups[i][::-1])
            stay = min(num_batches * shape.rows, len(members))
            if (larger := self._promoted[i]) is not None:
                groups[larger].append(members[stay:])
            full = [shape.rows] * num_batches
            if num_batches:
                full[-1] -= num_batches * shape.rows - stay
            pairs.append(members[:stay])
            sizes += full
            shapes += [i] * num_batches
        order_keys = _random_keys(self._seed, ~epoch, len(sizes))
        return _Epoch(
            pairs=np.concatenate(pairs),
            starts=np.cumsum([0, *sizes]),
            shapes=np.array(shapes),
            order=np.argsort(order_keys, kind="stable"),
        )


def _random_keys(seed: int, stream: int, count: int) -> np.ndarray:
    """Return `count` random uint64 (splitmix64): the same on any machine and numpy."""
    mask = (1 << 64) - 1
    start = np.uint64(_mix_int(_mix_int(seed & mask) ^ (stream & mask)))
    x = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + start
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _mix_int(x: int) -> int:
    """The same mixing for one Python integer below 2^64."""
    mask = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)
