"""Which position may look at which: booleans, True where looking is allowed (3.2.3).

Masks come from segments: 0 on padding, 1, 2, ... for the sentences that share a row.
Their shape is [batch, 1, query_length, key_length], so they are computed once for a
whole stack and broadcast over its heads.
"""

import jax
import jax.numpy as jnp


def segment_mask(query_segments: jax.Array, key_segments: jax.Array) -> jax.Array:
    """Let a position look at the real positions of its own sentence.

    A padded query may look nowhere.

    Args:
      query_segments: [batch, query_length], 0 on padding.
      key_segments: [batch, key_length], 0 on padding.

    Returns:
      boolean [batch, 1, query_length, key_length].
    """
    is_same = query_segments[:, None, :, None] == key_segments[:, None, None, :]
    return is_same & padding_mask(key_segments)


def padding_mask(key_segments: jax.Array) -> jax.Array:
    """Let every query look at all real positions.

    Args:
      key_segments: [batch, key_length], 0 on padding.

    Returns:
      boolean [batch, 1, 1, key_length].
    """
    return (key_segments != 0)[:, None, None, :]


def causal_mask(length: int) -> jax.Array:
    """Let a position look at itself and at what stands before it in the row (3.2.3).

    Args:
      length: of the row.

    Returns:
      boolean [1, 1, length, length].
    """
    position = jnp.arange(length)
    return (position[:, None] >= position[None, :])[None, None]


def decoder_mask(target_segments: jax.Array) -> jax.Array:
    """Let a target position look at its own sentence up to itself (3.2.3).

    Args:
      target_segments: [batch, target_length], 0 on padding.

    Returns:
      boolean [batch, 1, target_length, target_length].
    """
    is_same = segment_mask(target_segments, target_segments)
    return is_same & causal_mask(target_segments.shape[1])
