"""Norms, and the one place that builds them (Section 3.1)."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from transformer_jax.models.parameters import parameter


class LayerNorm(nn.Module):
    """Normalise each position to mean 0 and variance 1, then scale and shift (3.1).

    The variance is the mean squared deviation, epsilon stands under the root, and all
    of it is float32.

    Attributes:
      epsilon: added to the variance.
      dtype: of the output.
    """

    epsilon: float
    dtype: DTypeLike = jnp.float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Normalise `x` [batch, length, d_model] along its last axis."""

        def vector(name: str, init: nn.initializers.Initializer) -> jax.Array:
            values = parameter(self, name, init, ("d_model",), x.shape[-1:])
            return values.reshape(*(1,) * (x.ndim - 1), -1)

        x = x.astype(jnp.float32)
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = jnp.square(centred).mean(axis=-1, keepdims=True)
        normalised = centred * lax.rsqrt(variance + self.epsilon)
        scale = vector("scale", nn.initializers.ones)
        bias = vector("bias", nn.initializers.zeros)
        return (normalised * scale + bias).astype(self.dtype)


# `config.norm_kind` → epsilon, dtype → a module that maps [batch, length, d_model] to
# the same shape.
NORMS: dict[str, Callable[[float, DTypeLike], nn.Module]] = {"layer": LayerNorm}


def make_norm(norm_kind: str, norm_epsilon: float, dtype: DTypeLike) -> Any:
    """Return a new norm of this kind."""
    return NORMS[norm_kind](norm_epsilon, dtype)
