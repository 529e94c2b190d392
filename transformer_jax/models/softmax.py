"""The softmax of attention (Section 3.2.1)."""

import jax
import jax.numpy as jnp


def masked_softmax(scores: jax.Array, mask: jax.Array | None) -> jax.Array:
    """Softmax along the last axis of float32 scores; zero where `mask` is False."""
    if mask is None:
        return jax.nn.softmax(scores, axis=-1)
    # The lowest finite number, not -inf: a fully masked row must not become NaN.
    scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
    return jnp.where(mask, jax.nn.softmax(scores, axis=-1), 0.0)
