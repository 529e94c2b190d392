"""What a layer's program depends on: longest chain of operations, longest path."""

from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np


def longest_chain(function: Callable[..., Any], *arguments: Any) -> int:
    """Count the operations that must follow one another: the depth of the program.

    A scan counts its body for each of its iterations.

    Args:
      function: what to trace.
      *arguments: arrays or their shapes; nothing is computed.
    """
    closed = jax.make_jaxpr(function)(*arguments)
    return _depth(closed.jaxpr)


def _depth(jaxpr: Any) -> int:
    depths: dict[Any, int] = {}
    for equation in jaxpr.eqns:
        before = max(
            (
                depths.get(variable, 0)
                for variable in equation.invars
                if not isinstance(variable, jex.Literal)
            ),
            default=0,
        )
        inner = [
            _depth(value.jaxpr)
            for value in equation.params.values()
            if isinstance(value, jex.ClosedJaxpr)
        ]
        length = equation.params.get("length", 1) if inner else 1
        after = before + max(inner, default=1) * length
        depths.update((variable, after) for variable in equation.outvars)
    return max(depths.values(), default=0)


def longest_path(layer: Callable[[jax.Array], jax.Array], x: jax.Array) -> int | None:
    """Count the layers until every output position depends on every input position.

    A layer lets position i see position j where the derivative of output i by input j
    is not zero; stacked layers see what they see through one another.

    Args:
      layer: maps [length, d_model] to the same shape.
      x: [length, d_model], without special values.

    Returns:
      The number of layers, or None if some position never sees another.
    """
    jacobian = jax.jacrev(lambda x: layer(x).sum(axis=-1))(x)
    sees = np.asarray(jnp.abs(jacobian).sum(axis=-1) > 0)  # [length, length]
    reached = sees
    for num_layers in range(1, len(sees) + 1):
        if reached.all():
            return num_layers
        reached = (reached.astype(int) @ sees.astype(int)) > 0
    return None
