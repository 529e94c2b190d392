"""Sentences that share a row: where each begins and ends, and what is near in it.

Segments [batch, length] number them from 1 and are 0 on padding; the positions of one
lie side by side.
"""

import jax
import jax.numpy as jnp


def is_first(segments: jax.Array) -> jax.Array:
    """Tell which positions begin a sentence: boolean [batch, length].

    The first position of padding is one too.
    """
    before = jnp.pad(segments, ((0, 0), (1, 0)), constant_values=-1)[:, :-1]
    return segments != before


def is_last(segments: jax.Array) -> jax.Array:
    """Tell which positions end a sentence: boolean [batch, length]."""
    return is_first(segments[:, ::-1])[:, ::-1]


def first_index(segments: jax.Array, of: jax.Array) -> jax.Array:
    """Return for each position where the sentence of its number begins in other rows.

    Args:
      segments: [batch, length].
      of: [batch, other_length], segments of the rows that are searched.

    Returns:
      int32 [batch, length], below `other_length`; 0 where there is no such sentence.
    """
    is_same = segments[:, :, None] == of[:, None, :]
    return jnp.argmax(is_same, axis=-1).astype(jnp.int32)


def last_index(segments: jax.Array, of: jax.Array) -> jax.Array:
    """Return where the sentences end, as `first_index` does where they begin."""
    return of.shape[1] - 1 - first_index(segments, of[:, ::-1])


def shifted(x: jax.Array, segments: jax.Array, offset: int) -> jax.Array:
    """Return for each position what stands `offset` before it in the same sentence.

    Args:
      x: [batch, length, ...].
      segments: [batch, length].
      offset: positions; below 0 what stands behind.

    Returns:
      Array of the shape of `x`; zero where the sentence has no such position.
    """
    if offset == 0:
        return x
    length = x.shape[1]
    if abs(offset) >= length:
        return jnp.zeros_like(x)

    def moved(rows: jax.Array) -> jax.Array:
        room = [(0, 0)] * rows.ndim
        room[1] = (max(offset, 0), max(-offset, 0))
        start = max(-offset, 0)
        return jnp.pad(rows, room)[:, start : start + length]

    is_same = (moved(segments) == segments) & (segments != 0)
    return jnp.where(
        is_same.reshape(*segments.shape, *(1,) * (x.ndim - 2)), moved(x), 0
    )


def take(x: jax.Array, index: jax.Array) -> jax.Array:
    """Return of each row the vectors at some positions.

    Args:
      x: [batch, length, ...].
      index: [batch, other_length], below `length`.

    Returns:
      [batch, other_length, ...].
    """
    return jnp.take_along_axis(
        x, index.reshape(*index.shape, *(1,) * (x.ndim - 2)), axis=1
    )
