"""The mean of several checkpoints' parameters (Section 6.1)."""

import dataclasses
import itertools
import logging
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from transformer_jax.errors import UserError
from transformer_jax.training.checkpoints import CheckpointStore

_LOGGER = logging.getLogger(__name__)
# An error names no more missing steps than these.
_MISSING_NAMED = 20


@dataclasses.dataclass(frozen=True)
class Average:
    """A mean of parameters, and the steps that it was taken over.

    Attributes:
      params: on the host, in the type that they were saved in.
      steps: in rising order.
    """

    params: Any
    steps: tuple[int, ...]


def average_last(
    store: CheckpointStore, num: int, abstract_params: Any, cadence: str = ""
) -> Average:
    """Average the newest `num` sets of parameters that `store` keeps (Section 6.1).

    A best one that is older than those is not one of them.

    Args:
      store: of the run.
      num: how many.
      abstract_params: shapes and types of the parameters; arrays will do.
      cadence: when the run saves, for the error: a sentence and a space.

    Raises:
      UserError: if it keeps fewer.
    """
    steps = store.newest_params_steps()
    if not 1 <= num <= len(steps):
        raise UserError(
            f"Cannot average the last {num} checkpoints: the run keeps the last "
            f"{len(steps)} ({', '.join(map(str, steps)) or 'none'}). {cadence}Average "
            "fewer, or train with more saves or a larger number of kept parameters."
        )
    store.warn_of_damage(steps[-num])
    return average_steps(store, steps[-num:], abstract_params)


def average_range(
    store: CheckpointStore,
    first: int,
    last: int,
    every: int | None,
    abstract_params: Any,
) -> Average:
    """Average the parameters of the steps from `first` to `last`, both included.

    Args:
      store: of the run.
      first: the earliest step.
      last: the latest step.
      every: how far apart the steps are, all of which must be there; None: whatever the
        run keeps in between.
      abstract_params: shapes and types of the parameters; arrays will do.

    Raises:
      UserError: if a step of the range is missing, or the run keeps none of it.
    """
    kept = store.params_steps()
    steps: Sequence[int] = range(first, last + 1, every or 1)
    if every is None:
        steps = [step for step in kept if step in steps]
    absent = (str(step) for step in steps if step not in kept)
    missing = list(itertools.islice(absent, _MISSING_NAMED + 1))
    if len(missing) > _MISSING_NAMED:
        missing[_MISSING_NAMED] = "more"
    if missing or not steps:
        raise UserError(
            f"Cannot average the steps {first} to {last}"
            f"{'' if every is None else f' by {every}'}: the run lacks "
            f"{', '.join(missing) or 'all of them'} and keeps "
            f"{', '.join(map(str, kept)) or 'none'}. Name steps that it keeps, or "
            "train with a larger number of kept parameters."
        )
    store.warn_of_damage(first, last)
    return average_steps(store, steps, abstract_params)


def average_steps(
    store: CheckpointStore, steps: Sequence[int], abstract_params: Any
) -> Average:
    """Average the parameters of the named steps, in whatever order they are named.

    Sums are float64 on the host, where one set at a time is read.

    Raises:
      UserError: if a step is missing, damaged, named twice or of another model.
    """
    if not steps or len(set(steps)) != len(steps):
        raise UserError(
            f"Checkpoints to average must be named once each, got {list(steps)}."
        )
    ordered = sorted(store.resolve(step) for step in steps)
    _LOGGER.info(
        "Averaging the weights of %d checkpoints: %s",
        len(ordered),
        ", ".join(map(str, ordered)),
    )
    total = None
    for step in ordered:
        params = jax.device_get(store.restore_params(step, abstract_params))
        wide = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
        total = wide if total is None else jax.tree.map(np.add, total, wide)
    mean = jax.tree.map(
        lambda leaf, like: (leaf / len(ordered)).astype(like.dtype),
        total,
        abstract_params,
    )
    return Average(mean, tuple(ordered))
