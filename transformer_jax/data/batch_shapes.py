"""The few shapes that all batches have, chosen from the lengths of the sentences.

A sentence of n tokens takes n + 1 positions, the last for EOS (or the first for BOS).
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from transformer_jax.errors import UserError

# How far a bound is moved at a time while looking for better ones.
_STRIDES = (1, 3, 9, 27)


class BatchShape(NamedTuple):
    """Rows of a batch and the positions on either side of each."""

    rows: int
    source_length: int
    target_length: int


Bound = tuple[int, int]  # Most positions of source and of target.


def shape_cost(shape: BatchShape) -> int:
    """Return the positions that one row takes on both sides together."""
    return shape.source_length + shape.target_length


def by_cost(shape: BatchShape) -> tuple[int, BatchShape]:
    """Order shapes so that one that holds another comes after it."""
    return shape_cost(shape), shape


def most_rows(bound: Bound, tokens_per_batch: int, row_multiple: int) -> int:
    """Return how many rows of `bound` a batch has room for: at least one multiple."""
    return max(tokens_per_batch // max(bound) // row_multiple, 1) * row_multiple


def choose_shapes(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    tokens_per_batch: int,
    max_batch_shapes: int,
    row_multiple: int,
) -> tuple[BatchShape, ...]:
    """Choose shapes that leave few positions of an epoch without a real token.

    Bounds start on quantiles of the lengths and are then moved, one at a time, as long
    as that saves positions, those of empty rows included. A shape may be longer on one
    side: translations of sentences of one length have several lengths.

    Args:
      source_lengths: [pairs] tokens of each source sentence, without special ones.
      target_lengths: [pairs] likewise for the target.
      tokens_per_batch: most positions of a batch on either side (Section 5.1: about
        25 000), though a batch always has at least `row_multiple` rows.
      max_batch_shapes: most shapes, each of which XLA compiles once.
      row_multiple: rows are a multiple of this, so that devices can share them.

    Returns:
      The shapes from cheap to expensive; the last holds the longest sentence of both
      sides.

    Raises:
      UserError: if one of the numbers is below 1.
    """
    if min(tokens_per_batch, max_batch_shapes, row_multiple) < 1:
        raise UserError(
            f"tokens_per_batch={tokens_per_batch}, max_batch_shapes={max_batch_shapes} "
            f"and row_multiple={row_multiple}: expected at least 1 of each."
        )
    # Only the distinct pairs of lengths matter, and they are few.
    width = int(target_lengths.max()) + 1
    codes = source_lengths.astype(np.int64) * width + target_lengths
    distinct, counts = np.unique(codes, return_counts=True)
    distinct_source, distinct_target = np.divmod(distinct, width)
    needed_rows = -(-len(source_lengths) // row_multiple) * row_multiple

    def make_shapes(bounds: list[Bound]) -> list[BatchShape]:
        shapes = []
        for bound in set(bounds):
            rows = min(most_rows(bound, tokens_per_batch, row_multiple), needed_rows)
            shapes.append(BatchShape(rows, *bound))
        return sorted(shapes, key=by_cost)

    def price(bounds: list[Bound]) -> tuple[int, int]:
        """Return the positions of an epoch and, between equals, the shapes."""
        shapes = make_shapes(bounds)
        assigned = assign_shapes(distinct_source, distinct_target, shapes)
        pairs = np.bincount(assigned, counts, len(shapes)).astype(int).tolist()
        return choose_promotions(shapes, pairs).positions, len(shapes)

    bounds = _quantile_bounds(source_lengths, target_lengths, max_batch_shapes)
    return tuple(make_shapes(_improve_bounds(bounds, price)))


def _quantile_bounds(
    source_lengths: np.ndarray, target_lengths: np.ndarray, count: int
) -> list[Bound]:
    """Return `count` bounds, each above equally many more sentences than the last."""
    quantiles = np.linspace(0, 1, count + 1)[1:]
    source, target = (
        np.quantile(side, quantiles, method="higher").astype(int) + 1
        for side in (source_lengths, target_lengths)
    )
    return list(zip(source.tolist(), target.tolist(), strict=True))


def _improve_bounds(
    bounds: list[Bound], price: Callable[[list[Bound]], tuple[int, int]]
) -> list[Bound]:
    """Move one bound at a time, all but the last, until no move lowers the price.

    Equal bounds make one shape; spare ones wait at the last, and may move from there.
    """
    top_source, top_target = bounds[-1]
    moves = [
        (stride * source, stride * target)
        for stride in _STRIDES
        for source, target in itertools.product((-1, 0, 1), repeat=2)
        if source or target
    ]
    moves.append((top_source, top_target))
    bounds = _without_copies(bounds)
    best = price(bounds)
    improved = True
    while improved:
        improved = False
        for place, (source, target) in itertools.product(range(len(bounds) - 1), moves):
            changed = list(bounds)
            changed[place] = (
                min(max(bounds[place][0] + source, 2), top_source),
                min(max(bounds[place][1] + target, 2), top_target),
            )
            if (cost := price(changed)) < best:
                best, bounds, improved = cost, _without_copies(changed), True
    return bounds


def _without_copies(bounds: list[Bound]) -> list[Bound]:
    """Turn bounds that repeat another into copies of the last."""
    distinct = [bound for bound in dict.fromkeys(bounds) if bound != bounds[-1]]
    return distinct + [bounds[-1]] * (len(bounds) - len(distinct))


def assign_shapes(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    shapes: Sequence[BatchShape],
) -> np.ndarray:
    """Return for each pair the number of the cheapest shape that holds it.

    Args:
      source_lengths: [pairs] tokens without special ones.
      target_lengths: [pairs] likewise.
      shapes: from cheap to expensive.

    Raises:
      ValueError: if a pair fits no shape.
    """
    assigned = np.full(len(source_lengths), -1, np.int16)
    for i in reversed(range(len(shapes))):
        fits = source_lengths < shapes[i].source_length
        fits &= target_lengths < shapes[i].target_length
        assigned[fits] = i
    if (assigned < 0).any():
        pair = int(np.argmin(assigned))
        raise ValueError(
            f"pair {pair} has {source_lengths[pair]} source and {target_lengths[pair]} "
            f"target tokens, which fits none of the shapes {tuple(shapes)}."
        )
    return assigned


class Promotions(NamedTuple):
    """Where the pairs go that fill no whole batch of their shape.

    Attributes:
      targets: for each shape, the number of a larger one, or None to fill the last
        batch with empty rows.
      num_batches: for each shape, its batches in an epoch.
      positions: of all batches, both sides together.
    """

    targets: list[int | None]
    num_batches: list[int]
    positions: int


def choose_promotions(
    shapes: Sequence[BatchShape], counts: Sequence[int]
) -> Promotions:
    """Find where leftovers should go so that an epoch takes few positions.

    Args:
      shapes: from cheap to expensive.
      counts: pairs of each.
    """
    larger = [_next_larger(shapes, i) for i in range(len(shapes))]
    best = _count_batches(shapes, counts, larger)
    improved = True
    while improved:
        improved = False
        for i, up in enumerate(larger):
            targets = list(best.targets)
            targets[i] = up if targets[i] is None else None
            changed = _count_batches(shapes, counts, targets)
            if changed.positions < best.positions:
                best, improved = changed, True
    return best


def _count_batches(
    shapes: Sequence[BatchShape], counts: Sequence[int], targets: list[int | None]
) -> Promotions:
    waiting, num_batches, positions = list(counts), [], 0
    for i, (shape, target) in enumerate(zip(shapes, targets, strict=True)):
        full, left = divmod(waiting[i], shape.rows)
        if target is None:
            full += left > 0
        else:
            waiting[target] += left
        num_batches.append(full)
        positions += full * shape.rows * shape_cost(shape)
    return Promotions(targets, num_batches, positions)


def _next_larger(shapes: Sequence[BatchShape], i: int) -> int | None:
    """Return the cheapest later shape that holds all that shape `i` holds."""
    for j in range(i + 1, len(shapes)):
        if (
            shapes[j].source_length >= shapes[i].source_length
            and shapes[j].target_length >= shapes[i].target_length
        ):
            return j
    return None
