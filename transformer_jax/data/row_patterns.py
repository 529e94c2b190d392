"""Which lengths of pairs share a row: two-dimensional bin packing by counts.

Pairs of the same two lengths are interchangeable, so few distinct rows describe how
millions of pairs are packed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from transformer_jax.data.batch_shapes import Bound


class RowPattern(NamedTuple):
    """What lies in each of several equal rows.

    Attributes:
      kinds: the kind of each pair in the row.
      num_rows: how many rows are like this.
    """

    kinds: list[int]
    num_rows: int


def pack_rows(
    positions: np.ndarray, counts: np.ndarray, bounds: Sequence[Bound]
) -> list[list[RowPattern]]:
    """Pack all pairs into rows that leave few positions without a token.

    The longest pairs begin rows, of the shortest bound that holds them. Into what is
    left of a row goes, again and again, the pair after which the emptier side has the
    least room. The finished row is repeated as often as there are such pairs.

    Args:
      positions: [kinds, 2] that a pair of each kind takes of source and of target.
      counts: [kinds] pairs of each.
      bounds: positions of a row on either side, from short to long; the last holds
        every pair.

    Returns:
      For each bound, what its rows are like.
    """
    left = counts.copy()
    patterns: list[list[RowPattern]] = []
    shorter = [(0, 0), *bounds[:-1]]
    for bound, below in reversed(list(zip(bounds, shorter, strict=True))):
        # Of the two sides, each as a part of the row.
        source, target = (positions / bound).T
        is_first = (left > 0) & (positions > below).any(axis=1)
        firsts = np.flatnonzero(is_first)
        by_size = np.argsort(-np.maximum(source, target)[firsts], kind="stable")
        patterns.append([])
        for first in firsts[by_size].tolist():
            while left[first]:
                patterns[-1].append(_fill_row(first, left, source, target))
    return patterns[::-1]


def _fill_row(
    first: int, left: np.ndarray, source: np.ndarray, target: np.ndarray
) -> RowPattern:
    """Fill a row that begins with a pair of kind `first`, and take it from `left`."""
    kinds = []
    source_room = target_room = 1.0 + 1e-9  # Parts of a row add up to 1 but for this.
    fitting, best = np.array([first]), 0
    while len(fitting):
        kind = int(fitting[best])
        kinds.append(kind)
        left[kind] -= 1
        source_room -= source[kind]
        target_room -= target[kind]
        fits = (source <= source_room) & (target <= target_room) & (left > 0)
        fitting = np.flatnonzero(fits)
        if len(fitting):
            rooms = source_room - source[fitting], target_room - target[fitting]
            best = int(np.maximum(*rooms).argmin())
    more = min(int(left[kind]) // kinds.count(kind) for kind in kinds)
    for kind in kinds:
        left[kind] -= more
    return RowPattern(kinds, 1 + more)
