"""How every module makes a parameter."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp


def parameter(
    module: nn.Module,
    name: str,
    init: nn.initializers.Initializer,
    axes: tuple[str, ...],
    shape: tuple[int, ...],
) -> jax.Array:
    """Make a float32 parameter of a module, with a logical name for each of its axes.

    Args:
      module: whose parameter it is; called inside its `setup` or compact method.
      name: of the parameter.
      init: how it starts.
      axes: logical names; sharding/rules.py says what they mean on a mesh.
      shape: of the parameter, one size for each name.
    """
    named: Callable[..., Any] = nn.with_logical_partitioning(init, axes)
    return module.param(name, named, shape, jnp.float32)
