"""The scaling of attention's scores, and their softmax (Section 3.2.1)."""

from typing import Literal

import jax
import jax.numpy as jnp

AttentionScaling = Literal["sqrt_d_k", "none"]


def scaled_query(query: jax.Array, scaling: AttentionScaling) -> jax.Array:
    """Scale queries [..., d_k], and so the scores that they get with any key."""
    return query / query.shape[-1] ** 0.5 if scaling == "sqrt_d_k" else query


def masked_softmax(scores: jax.Array, mask: jax.Array | None) -> jax.Array:
    """Softmax along the last axis of float32 scores; zero where `mask` is False."""
    if mask is None:
        return jax.nn.softmax(scores, axis=-1)
    # The lowest finite number, not -inf: a fully masked row must not become NaN.
    scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
    return jnp.where(mask, jax.nn.softmax(scores, axis=-1), 0.0)
