"""What a layer's program depends on: longest chain of operations, longest path."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.extend.core as jex
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


def longest_path(
    layers: Iterable[Callable[[jax.Array], jax.Array]], x: jax.Array
) -> int | None:
    """Count the layers until the last position depends on the first.

    A layer lets position i see position j where the derivative of output i by input j
    is not zero; stacked layers see what they see through one another.

    Args:
      layers: from the lowest on; each maps [length, d_model] to the same shape.
      x: [length, d_model], without special values.

    Returns:
      The number of layers, or None if they go no further before that.
    """
    reached = np.arange(len(x)) == 0
    changes = jax.random.normal(jax.random.key(0), x.shape)
    for number, layer in enumerate(layers, start=1):
        change = _push_forward(layer, x, changes * reached[:, None])
        now = np.asarray((change != 0).any(axis=-1))
        if now[-1]:
            return number
        if (now == reached).all():
            return None
        reached = now
    return None


@functools.partial(jax.jit, static_argnums=0)
def _push_forward(
    layer: Callable[[jax.Array], jax.Array], x: jax.Array, change: jax.Array
) -> jax.Array:
    """Return the Jacobian of a layer times a change of its input."""
    return jax.jvp(layer, (x,), (change,))[1]
