"""Equal layers one after another, each compiled by itself or one program for all."""

from collections.abc import Callable, Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import lax

from transformer_jax.models.dropout import DropoutBits

# (layer, x, dropout) → x.
CallLayer = Callable[[Any, jax.Array, DropoutBits | None], jax.Array]


def apply_layers(
    layers: Sequence[nn.Module],
    call: CallLayer,
    x: jax.Array,
    dropout: DropoutBits | None,
    *,
    is_scanned: bool,
) -> jax.Array:
    """Apply layers of one kind, the result of each to the next.

    Scanned layers are one program run once for each: XLA compiles it in a fraction of
    the time. Their parameters keep their own names and are stacked here, inside the
    step; a dropped element is the same either way. While parameters are made, or where
    a layer shall show something of itself, every layer is applied by itself.

    Args:
      layers: bound modules of equal attributes.
      call: applies one.
      x: [batch, length, d_model].
      dropout: randomness, or None for none.
      is_scanned: whether to compile one program for all.

    Returns:
      [batch, length, d_model].
    """
    first = layers[0]
    shows_itself = first.is_mutable_collection("intermediates")
    if not is_scanned or shows_itself or first.is_initializing():
        for layer in layers:
            x = call(layer, x, dropout)
        return x
    template = first.clone(parent=None, name=None)
    paths = tuple(layer.path for layer in layers)

    def one(x: jax.Array, layer: tuple[Any, jax.Array]) -> tuple[Any, None]:
        params, number = layer
        bits = None if dropout is None else dropout.inside(paths, number)
        return template.apply({"params": params}, x, bits, method=call), None

    params = [layer.variables["params"] for layer in layers]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *params)
    # Products are kept for the way back and the rest, cheap beside them, done again:
    # what a scan keeps it writes out, while XLA fuses the rest into what needs it.
    body = jax.checkpoint(
        one, prevent_cse=False, policy=jax.checkpoint_policies.dots_saveable
    )
    x, _ = lax.scan(body, x, (stacked, jnp.arange(len(layers))))
    return x
