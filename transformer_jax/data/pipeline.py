"""From a plan to batches: Grain reads ahead, and any step can be the first."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import grain
from absl import flags

from transformer_jax.data.batch_plan import BatchPlan, PlannedBatch

MakeBatch = Callable[[PlannedBatch], Any]


def make_batches(
    make_batch: MakeBatch,
    plan: BatchPlan,
    *,
    start_step: int = 0,
    num_steps: int | None = None,
    num_threads: int,
    prefetch: int = 8,
) -> Iterator[Any]:
    """Yield the batches of steps `start_step`, `start_step + 1`, ... as numpy arrays.

    Args:
      make_batch: fills the arrays of a planned batch.
      plan: which texts share a batch.
      start_step: the first step; getting there costs nothing.
      num_steps: how many steps; None goes on for ever.
      num_threads: threads that assemble batches ahead of time; 0 assembles on demand.
      prefetch: batches to keep ready.
    """
    if not flags.FLAGS.is_parsed():  # Grain reads its flags even outside absl.app.
        flags.FLAGS.mark_as_parsed()
    stop = sys.maxsize if num_steps is None else start_step + num_steps
    steps = grain.MapDataset.range(start_step, stop)
    batches = steps.map(lambda step: make_batch(plan.batch(int(step))))
    options = grain.ReadOptions(num_threads=num_threads, prefetch_buffer_size=prefetch)
    return iter(batches.to_iter_dataset(options))


def evaluation_batches(make_batch: MakeBatch, plan: BatchPlan) -> Iterator[Any]:
    """Yield one epoch: every text exactly once, always in the same order.

    Sums over real tokens are right whatever the shapes; use a plan of few shapes, since
    each is compiled once more for evaluation.
    """
    for step in range(plan.batches_per_epoch):
        yield make_batch(plan.batch(step))
