"""Batches of packed rows: several pairs one after the other in each row.

Not in the paper. Lengths that fill a row together are worked out once, from how many
pairs there are of each two lengths. An epoch deals out anew which pair of those lengths
lies where, and which rows share a batch; a batch has rows of many kinds.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from transformer_jax.data.batch_plan import BatchPlan, Epoch
from transformer_jax.data.batch_shapes import BatchShape, Bound, most_rows
from transformer_jax.data.random_order import random_order
from transformer_jax.data.row_patterns import RowPattern, pack_rows

# Bits of a length that packing looks at: up to 127 positions every one counts, of long
# texts only so many that there are thousands of kinds, not hundreds of thousands.
_BITS = 7
# Which random order of an epoch is that of its rows; beside it are pairs and batches.
_ROWS_OF_EPOCH = 1 << 62


def plan_packed(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    tokens_per_batch: int,
    packed_length: int,
    row_multiple: int,
    seed: int,
) -> BatchPlan:
    """Pack pairs into rows, and rows into batches of few shapes.

    Args:
      source_lengths: [pairs] tokens of each source sentence, without special ones.
      target_lengths: [pairs] likewise for the target.
      tokens_per_batch: most positions of a batch on either side (Section 5.1: about
        25 000), though a batch always has at least `row_multiple` rows.
      packed_length: positions, at least, of the shortest rows; see `row_bounds`.
      row_multiple: rows are a multiple of this, so that devices can share them.
      seed: of the order of pairs, rows and batches.
    """
    source, target = (_round_up(side + 1) for side in (source_lengths, target_lengths))
    width = int(target.max()) + 1
    codes, kinds, counts = np.unique(
        source.astype(np.int64) * width + target,
        return_inverse=True,
        return_counts=True,
    )
    positions = np.stack(np.divmod(codes, width), axis=1)
    bounds = row_bounds(positions, counts, packed_length)
    shapes, num_batches, patterns = [], [], []
    for bound, of_bound in zip(
        bounds, pack_rows(positions, counts, bounds), strict=True
    ):
        if num_rows := sum(pattern.num_rows for pattern in of_bound):
            budget = most_rows(bound, tokens_per_batch, row_multiple)
            number = -(-num_rows // budget)
            # As few empty rows as so many equal batches can have.
            rows = -(-num_rows // (number * row_multiple)) * row_multiple
            shapes.append(BatchShape(rows, *bound))
            num_batches.append(number)
            patterns.append(of_bound)
    kinds = kinds.astype(np.min_scalar_type(len(codes)))  # Sorts faster.
    layout = _lay_out(patterns, num_batches, kinds.dtype)
    plan_epoch = functools.partial(_plan_epoch, kinds, layout, seed)
    return BatchPlan(
        source_lengths, target_lengths, shapes, num_batches, plan_epoch, seed
    )


def _round_up(positions: np.ndarray) -> np.ndarray:
    """Round up to numbers that so few bits, and zeros after them, can write."""
    _, bits = np.frexp(positions)
    step = 1 << np.maximum(bits - _BITS, 0)
    return -(-positions // step) * step


def row_bounds(
    positions: np.ndarray, counts: np.ndarray, packed_length: int
) -> list[Bound]:
    """Return how long rows are: as the longest pair asks, halved a few times.

    Short rows make attention cheap, and most pairs fit into them. The two sides are as
    long as their mean sentences are to each other, so that both fill up together.

    Args:
      positions: [kinds, 2] that a pair of each kind takes of source and of target.
      counts: [kinds] pairs of each.
      packed_length: rows are halved as long as their longer side keeps this.

    Returns:
      Positions of source and target, from short to long.
    """
    means = counts @ positions
    sides = means / means.max()
    longest = positions.max(axis=0)
    length = max(packed_length, *(longest / sides).tolist())
    num_halvings = int(math.log2(length / packed_length))
    lengths = length / 2.0 ** np.arange(num_halvings, -1, -1)
    bounds = np.maximum(np.rint(np.outer(lengths, sides)).astype(int), 1)
    bounds[-1] = np.maximum(bounds[-1], longest)
    return [(source, target) for source, target in bounds.tolist()]


class _Layout(NamedTuple):
    """Where pairs of which lengths lie, the same in every epoch; a place is a pair's.

    Attributes:
      places: [all pairs] the places of each kind of pair, kind by kind.
      starts: [all rows] the first place of each row.
      sizes: [all rows] the places of each row.
      shapes: [all rows] number of the shape of each.
      batches: [batches + 1] where each batch starts in the rows.
      shapes_of_batches: [batches] number of the shape of each.
    """

    places: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    shapes: np.ndarray
    batches: np.ndarray
    shapes_of_batches: np.ndarray


def _lay_out(
    patterns: Sequence[Sequence[RowPattern]],
    num_batches: Sequence[int],
    dtype: DTypeLike,
) -> _Layout:
    """Lay the rows of all shapes end to end, and spread them evenly over batches.

    Args:
      patterns: for each shape, what its rows are like.
      num_batches: of each shape.
      dtype: of kinds.
    """
    kinds, sizes, num_rows = [], [], []
    for of_shape in patterns:
        num_rows.append(sum(pattern.num_rows for pattern in of_shape))
        for pattern in of_shape:
            kinds.append(np.tile(np.array(pattern.kinds, dtype), pattern.num_rows))
            sizes.append(np.full(pattern.num_rows, len(pattern.kinds), np.int32))
    sizes_of_rows = np.concatenate(sizes)
    batches = [np.zeros(1, np.int64)]
    for rows, number in zip(num_rows, num_batches, strict=True):
        batches.append(batches[-1][-1] + rows * np.arange(1, number + 1) // number)
    numbers = np.arange(len(patterns), dtype=np.uint8)
    return _Layout(
        places=np.argsort(np.concatenate(kinds), kind="stable"),
        starts=np.cumsum(sizes_of_rows) - sizes_of_rows,
        sizes=sizes_of_rows,
        shapes=np.repeat(numbers, num_rows),
        batches=np.concatenate(batches),
        shapes_of_batches=np.repeat(numbers, num_batches),
    )


def _plan_epoch(kinds: np.ndarray, layout: _Layout, seed: int, epoch: int) -> Epoch:
    """Deal the pairs of each kind to their places, shuffle the rows of each shape.

    Args:
      kinds: [pairs] the kind of each: a number for its two lengths.
      layout: of the rows.
      seed: of all epochs.
      epoch: which one.
    """
    shuffled = random_order(seed, epoch, len(kinds))
    dealt = np.empty(len(kinds), np.int64)
    dealt[layout.places] = shuffled[np.argsort(kinds[shuffled], kind="stable")]
    rows = random_order(seed, epoch + _ROWS_OF_EPOCH, len(layout.sizes))
    rows = rows[np.argsort(layout.shapes[rows], kind="stable")]
    sizes = layout.sizes[rows]
    stops = np.cumsum(sizes)
    # Place n of the shuffled rows is this far from where it was.
    moved = np.repeat(layout.starts[rows] - (stops - sizes), sizes)
    first_rows = np.repeat(layout.batches[:-1], np.diff(layout.batches))
    row_numbers = (np.arange(len(rows)) - first_rows).astype(np.int32)
    return Epoch(
        pairs=dealt[np.arange(len(moved)) + moved],
        pair_rows=np.repeat(row_numbers, sizes),
        starts=np.concatenate([[0], stops])[layout.batches],
        shapes=layout.shapes_of_batches,
        order=random_order(seed, ~epoch, len(layout.shapes_of_batches)),
    )
