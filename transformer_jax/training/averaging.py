"""The mean of the last checkpoints' parameters (Section 6.1)."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from transformer_jax.errors import UserError
from transformer_jax.training.checkpoints import CheckpointStore


@dataclasses.dataclass(frozen=True)
class Average:
    """A mean of parameters, and the steps that it was taken over.

    Attributes:
      params: on the host, in the type that they were saved in.
      steps: in rising order.
    """

    params: Any
    steps: tuple[int, ...]


def average_last(store: CheckpointStore, num: int, abstract_params: Any) -> Average:
    """Average the newest `num` sets of parameters that `store` keeps (Section 6.1).

    Raises:
      UserError: if it keeps fewer.
    """
    steps = store.params_steps()
    if not 1 <= num <= len(steps):
        raise UserError(
            f"Cannot average the last {num} checkpoints: the run keeps {len(steps)} "
            f"({', '.join(map(str, steps)) or 'none'}). Average fewer, or train with a "
            "larger number of kept parameters."
        )
    return average_steps(store, steps[-num:], abstract_params)


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
