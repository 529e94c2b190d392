"""Parameters: how a module makes one, and all of a model."""

from collections.abc import Callable, Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from transformer_jax.models.interface import TRANSLATION_INPUTS


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


def init_params(
    model: Any, rng: jax.Array, inputs: Mapping[str, Any] = TRANSLATION_INPUTS
) -> Any:
    """Return new float32 parameters: a tree of plain arrays, named by module path.

    Args:
      model: a module.
      rng: random key.
      inputs: what the module is called with, or the shapes of it.
    """
    return nn.unbox(_boxed_params(model, rng, inputs))


def param_axes(model: Any, inputs: Mapping[str, Any] = TRANSLATION_INPUTS) -> Any:
    """Return the logical names of every parameter's axes, in the tree of `init_params`.

    A leaf is a PartitionSpec of names such as ("vocab", "d_model").
    """
    boxed = jax.eval_shape(
        lambda rng: _boxed_params(model, rng, inputs), jax.random.key(0)
    )
    return nn.get_partition_spec(boxed)


def param_shapes(model: Any, inputs: Mapping[str, Any] = TRANSLATION_INPUTS) -> Any:
    """Return the shapes and types of `init_params`, without making any parameter."""
    return jax.eval_shape(lambda: init_params(model, jax.random.key(0), inputs))


def count_params(params: Any) -> int:
    """Return the number of parameters in a tree of arrays or of their shapes."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def _boxed_params(model: Any, rng: jax.Array, inputs: Mapping[str, Any]) -> Any:
    """Return new parameters with their logical axis names still around them."""
    return model.lazy_init(rng, **inputs)["params"]
