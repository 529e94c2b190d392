"""All that one training step hands to the next."""

from collections.abc import Callable
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax


@flax.struct.dataclass
class TrainState:
    """Everything that an update changes; with a batch and a key it fixes the next one.

    Attributes:
      step: int32 scalar, global batches taken, skipped updates included. It drives the
        data, the schedule, dropout and the name of the checkpoint.
      params: the model's parameters, float32.
      opt_state: the optimizer's state.
      ema_params: moving average of `params`, or None.
      num_skipped: int32 scalar, updates skipped because a gradient was not finite.
    """

    step: jax.Array
    params: Any
    opt_state: Any
    ema_params: Any
    num_skipped: jax.Array

    @property
    def evaluated_params(self) -> Any:
        """The parameters to evaluate and keep: the moving average if there is one."""
        return self.params if self.ema_params is None else self.ema_params

    def with_params(self, change: Callable[[Any], Any]) -> "TrainState":
        """Return the state with every tree of a value for each parameter changed."""

        def is_tree(node: Any) -> bool:
            return isinstance(node, dict)

        return jax.tree.map(
            lambda node: change(node) if is_tree(node) else node, self, is_leaf=is_tree
        )


def create_state(
    params: Any, optimizer: optax.GradientTransformation, use_ema: bool = False
) -> TrainState:
    """Start training from `params`, at step 0."""
    # A copy: a step donates its state, and a buffer can be donated once only.
    ema_params = jax.tree.map(jnp.copy, params) if use_ema else None
    return TrainState(
        step=jnp.zeros((), jnp.int32),
        params=params,
        opt_state=optimizer.init(params),
        ema_params=ema_params,
        num_skipped=jnp.zeros((), jnp.int32),
    )
