"""Batches of pairs of like length, one pair a row.

The paper batches pairs "together by approximate sequence length" (Section 5.1). Here
the shapes are fixed before training, so that XLA compiles each once; every pair goes to
the cheapest shape that holds it. Pairs left over when a shape's batches are cut move up
to a larger shape where that costs less than filling a batch with empty rows.
"""

import functools
from collections.abc import Sequence

import numpy as np

from transformer_jax.data.batch_plan import BatchPlan, Epoch
from transformer_jax.data.batch_shapes import (
    BatchShape,
    Promotions,
    assign_shapes,
    by_cost,
    choose_promotions,
)
from transformer_jax.data.random_order import random_order


def plan_buckets(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    shapes: Sequence[BatchShape],
    *,
    seed: int,
) -> BatchPlan:
    """Assign every pair to a shape.

    Args:
      source_lengths: [pairs] tokens of each source sentence, without special ones.
      target_lengths: [pairs] likewise for the target.
      shapes: from `choose_shapes`; one of them must hold the longest of both sides.
      seed: of the order of pairs and batches.
    """
    # A shape that holds another has the larger sum, so leftovers always move right.
    shapes = sorted(shapes, key=by_cost)
    assigned = assign_shapes(source_lengths, target_lengths, shapes)
    counts = np.bincount(assigned, minlength=len(shapes)).tolist()
    promotions = choose_promotions(shapes, counts)
    plan_epoch = functools.partial(_plan_epoch, assigned, shapes, promotions, seed)
    return BatchPlan(
        source_lengths,
        target_lengths,
        shapes,
        promotions.num_batches,
        plan_epoch,
        seed,
    )


def _plan_epoch(
    assigned: np.ndarray,
    shapes: Sequence[BatchShape],
    promotions: Promotions,
    seed: int,
    epoch: int,
) -> Epoch:
    """Shuffle the pairs within each shape, cut batches, shuffle the batches."""
    shuffled = random_order(seed, epoch, len(assigned))
    by_shape = shuffled[np.argsort(assigned[shuffled], kind="stable")]
    counts = np.bincount(assigned, minlength=len(shapes))
    groups = [[group] for group in np.split(by_shape, np.cumsum(counts)[:-1])]
    pairs, sizes, shapes_of_batches = [], [], []
    for i, (shape, num_batches) in enumerate(
        zip(shapes, promotions.num_batches, strict=True)
    ):
        # Pairs moved up come first: a pair is moved twice only if all others fit.
        members = np.concatenate(groups[i][::-1])
        stay = min(num_batches * shape.rows, len(members))
        if (larger := promotions.targets[i]) is not None:
            groups[larger].append(members[stay:])
        full = [shape.rows] * num_batches
        if num_batches:
            full[-1] -= num_batches * shape.rows - stay
        pairs.append(members[:stay])
        sizes += full
        shapes_of_batches += [i] * num_batches
    return Epoch(
        pairs=np.concatenate(pairs),
        pair_rows=np.concatenate([np.arange(size, dtype=np.int32) for size in sizes]),
        starts=np.cumsum([0, *sizes]),
        shapes=np.array(shapes_of_batches),
        order=random_order(seed, ~epoch, len(sizes)),
    )
