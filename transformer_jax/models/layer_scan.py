"""Equal layers one after another: each by itself, or one program run for each.

Parameters are named by layer, as layer_0, layer_1, ...; that is how they are made, kept
on disk and read. While training, the layers of a stack may lie in one array for each
parameter, [num_layers, ...], as `layers`: XLA then compiles one layer, and the
optimizer updates one array, in place of as many as there are layers.
"""

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import lax

from transformer_jax.models.dropout import DropoutBits

# `config.training.layer_scan`.
LayerScan = Literal["auto", "always", "never"]

_STACKED, _LAYER = "layers", "layer_"
# (layer, x, dropout) → x.
CallLayer = Callable[[Any, jax.Array, DropoutBits | None], jax.Array]
# What a scan keeps for the way back it writes out; the rest, cheap beside these and
# fused into what needs it, is done again. Compiled for an H100, this takes the memory
# that layers one by one take; keeping all takes 1.7 times that. With products alone the
# fusions become large, and so slow to compile that nothing is gained.
_KEPT = (
    *("dot_general", "exp", "reduce_max", "reduce_sum", "rsqrt"),
    "dot_product_attention_fwd_wrapper",  # cuDNN's attention.
)


def stack_layers(
    params: Mapping[str, Any],
    stacks: Collection[str],
    join: Callable[[Sequence[Any]], Any] = jnp.stack,
) -> dict[str, Any]:
    """Put the layers of each stack into one array for each parameter.

    Args:
      params: a model's, or a tree like it, by the names of its parts.
      stacks: names of the parts that are stacks of equal layers.
      join: what becomes of the leaves that the layers have at one place.
    """
    return {
        name: _stack(part, join) if name in stacks else part
        for name, part in params.items()
    }


def unstack_layers(
    params: Mapping[str, Any], stacks: Collection[str]
) -> dict[str, Any]:
    """Undo `stack_layers`."""
    return {
        name: _unstack(part) if name in stacks else part
        for name, part in params.items()
    }


def _stack(part: Mapping[str, Any], join: Callable[[Sequence[Any]], Any]) -> Any:
    rest = {name: leaf for name, leaf in part.items() if not name.startswith(_LAYER)}
    layers = [part[f"{_LAYER}{i}"] for i in range(len(part) - len(rest))]
    return rest | {_STACKED: jax.tree.map(lambda *leaves: join(leaves), *layers)}


def _unstack(part: Mapping[str, Any]) -> Any:
    rest = {name: leaf for name, leaf in part.items() if name != _STACKED}
    stacked = part[_STACKED]
    num_layers = jax.tree.leaves(stacked)[0].shape[0]
    return rest | {
        f"{_LAYER}{i}": jax.tree.map(operator.itemgetter(i), stacked)
        for i in range(num_layers)
    }


def _is_kept(primitive: Any, *_: Any, **__: Any) -> bool:
    return primitive.name in _KEPT


def apply_layers(
    stack: Any,
    call: CallLayer,
    x: jax.Array,
    dropout: DropoutBits | None,
) -> jax.Array:
    """Apply layers of one kind, the result of each to the next.

    Layers whose parameters are stacked are one program; the same elements are dropped
    either way. What a stacked layer sows is lost.

    Args:
      stack: a bound module; its `layer` holds modules of equal attributes.
      call: applies one.
      x: [batch, length, d_model].
      dropout: randomness, or None for none.

    Returns:
      [batch, length, d_model].
    """
    stacked = stack.variables.get("params", {}).get(_STACKED)
    if stacked is None:
        for layer in stack.layer:
            x = call(layer, x, dropout)
        return x
    template = stack.layer[0].clone(parent=None, name=None)
    paths = tuple(layer.path for layer in stack.layer)

    def one(x: jax.Array, layer: tuple[Any, jax.Array]) -> tuple[Any, None]:
        params, number = layer
        bits = None if dropout is None else dropout.inside(paths, number)
        return template.apply({"params": params}, x, bits, method=call), None

    body = jax.checkpoint(one, prevent_cse=False, policy=_is_kept)
    x, _ = lax.scan(body, x, (stacked, jnp.arange(len(paths))))
    return x
