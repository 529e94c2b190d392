"""The few shapes that all batches have, chosen from the lengths of the sentences.

A sentence of n tokens takes n + 1 positions, the last for EOS (or the first for BOS).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# Enough candidates for a bound on either side; more gain nothing measurable.
_MAX_CANDIDATES = 48


class BatchShape(NamedTuple):
    """Rows of a batch and the positions on either side of each."""

    rows: int
    source_length: int
    target_length: int


def shape_cost(shape: BatchShape) -> int:
    """Return the positions that one row takes on both sides together."""
    return shape.source_length + shape.target_length


def choose_shapes(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    tokens_per_batch: int,
    max_shapes: int = 12,
    row_multiple: int = 8,
) -> tuple[BatchShape, ...]:
    """Choose shapes that leave the fewest positions without a real token.

    The target axis is cut into bands, and each band has source bounds of its own, since
    sentences of one length have translations of several. Dynamic programming finds the
    best bands and bounds for the whole distribution of lengths.

    Args:
      source_lengths: [pairs] tokens of each source sentence, without special ones.
      target_lengths: [pairs] likewise for the target.
      tokens_per_batch: most positions of a batch on either side (Section 5.1: about
        25 000), though a batch always has at least `row_multiple` rows.
      max_shapes: most shapes, each of which XLA compiles once.
      row_multiple: rows are a multiple of this, so that devices can share them.

    Returns:
      The shapes; the last holds the longest sentence of both sides.
    """
    lengths, counts = np.unique(
        np.stack([source_lengths, target_lengths]), axis=1, return_counts=True
    )
    source_bounds, target_bounds = (_candidate_bounds(side, counts) for side in lengths)
    histogram = np.zeros((len(target_bounds), len(source_bounds)))
    cells = (
        np.searchsorted(target_bounds, lengths[1] + 1),
        np.searchsorted(source_bounds, lengths[0] + 1),
    )
    np.add.at(histogram, cells, counts)
    most_rows = _round_up(len(source_lengths), row_multiple)
    best: tuple[int, tuple[BatchShape, ...]] | None = None
    # Each shape more pads less but may leave one more batch unfilled: count both.
    for bounds in _best_bounds(histogram, source_bounds, target_bounds, max_shapes):
        shapes = []
        for s, t in bounds:
            rows = min(
                tokens_per_batch // max(s, t) // row_multiple * row_multiple, most_rows
            )
            shapes.append(BatchShape(max(rows, row_multiple), s, t))
        shapes.sort(key=lambda shape: (shape_cost(shape), shape))
        assigned = assign_shapes(*lengths, shapes)
        shape_counts = np.bincount(assigned, counts, len(shapes)).astype(int).tolist()
        cost = choose_promotions(shapes, shape_counts).positions
        if best is None or cost < best[0]:
            best = cost, tuple(shapes)
    assert best is not None
    return best[1]


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
      targets: for each shape, the number of a larger one, or None to fill the last batch
        with empty rows.
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


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _candidate_bounds(lengths: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the positions at which a shape may end: quantiles, and the longest of all."""
    positions = np.repeat(
        np.arange(lengths.max() + 2), np.bincount(lengths + 1, counts).astype(int)
    )
    ranks = np.linspace(0, len(positions) - 1, _MAX_CANDIDATES).astype(int)
    return np.unique(positions[ranks])


def _best_bounds(
    histogram: np.ndarray,
    source_bounds: np.ndarray,
    target_bounds: np.ndarray,
    max_shapes: int,
) -> list[list[tuple[int, int]]]:
    """Return the cheapest (source, target) bounds for each number of shapes.

    Args:
      histogram: [targets, sources] number of pairs up to each bound and over the last.
      source_bounds: [sources] candidates.
      target_bounds: [targets] candidates.
      max_shapes: most shapes.
    """
    num_targets, num_sources = histogram.shape
    # below[i, j]: pairs with a target in the first i candidates, a source in the first j.
    below = np.zeros((num_targets + 1, num_sources + 1))
    below[1:, 1:] = histogram.cumsum(axis=0).cumsum(axis=1)
    # costs[k, i]: of covering the first i target candidates with k shapes.
    costs = np.full((max_shapes + 1, num_targets + 1), np.inf)
    costs[0, 0] = 0
    found: dict[tuple[int, int], list[tuple[int, int]]] = {(0, 0): []}
    for stop in range(1, num_targets + 1):
        top = int(target_bounds[stop - 1])
        for start in range(stop):
            pairs = below[stop] - below[start]
            # The last band reaches to the longest source, for leftovers to move to.
            reach = (
                num_sources
                if stop == num_targets
                else int(np.argmax(pairs == pairs[-1]))
            )
            for used, (cost, bounds) in enumerate(
                _cut_band(pairs[: reach + 1], source_bounds[:reach], max_shapes),
                start=1,
            ):
                total = costs[: max_shapes + 1 - used, start] + cost + pairs[-1] * top
                for k in np.flatnonzero(total < costs[used:, stop]):
                    costs[used + k, stop] = total[k]
                    found[used + k, stop] = found[k, start] + [(s, top) for s in bounds]
    return [
        found[k, num_targets]
        for k in range(1, max_shapes + 1)
        if (k, num_targets) in found
    ]


def _cut_band(
    pairs: np.ndarray, bounds: np.ndarray, max_shapes: int
) -> list[tuple[float, list[int]]]:
    """Return the least source positions, and the bounds, with 1, 2, ... bounds.

    Args:
      pairs: [bounds + 1] pairs of the band below each bound, from 0.
      bounds: [bounds] candidates, the last of which is always used.
      max_shapes: most bounds to use.
    """
    # step[i, j]: cost of the pairs between candidates i and j in a shape that ends at j.
    step = (pairs[None, 1:] - pairs[:-1, None]) * bounds[None, :]
    step = np.where(np.tri(len(bounds), dtype=bool).T, step, np.inf)
    cost, cuts, results = step[0], [], []
    for used in range(1, min(max_shapes, len(bounds)) + 1):
        if used > 1:
            options = cost[:-1, None] + step[1:]
            cuts.append(options.argmin(axis=0))
            cost = options.min(axis=0)
        chosen = [len(bounds) - 1]
        for cut in reversed(cuts):
            chosen.append(int(cut[chosen[-1]]))
        results.append((float(cost[-1]), [int(bounds[i]) for i in reversed(chosen)]))
    return results
