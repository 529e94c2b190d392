"""Self-attention to a neighbourhood, as attention between blocks (Section 4).

A block of as many queries as a position may look to one side meets its own keys and
those of the blocks beside it. Of n positions that see r each, scores and what is kept
of them grow with n r, not with n^2.
"""

import jax
import jax.numpy as jnp

from transformer_jax.models.masks import Visibility, band_mask


def goes_by_blocks(visible: Visibility) -> bool:
    """Tell whether blocks of self-attention meet fewer keys than the row has."""
    if visible.reach is None:
        return False
    _, num_keys = _block_sizes(visible.reach, visible.is_causal)
    return num_keys < visible.query_segments.shape[1]


def count_scores(length: float, reach: int | None, is_causal: bool) -> float:
    """Count the scores of a row: those of its blocks, or of all of its pairs."""
    if reach is None:
        return length * length
    num_queries, num_keys = _block_sizes(reach, is_causal)
    if num_keys >= length:
        return length * length
    return -(-length // num_queries) * num_queries * num_keys


def into_blocks(
    query: jax.Array, key: jax.Array, value: jax.Array, visible: Visibility
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Make each block of self-attention a row of its own; `from_blocks` undoes it.

    Args:
      query: [batch, length, num_heads, d_k].
      key: [batch, length, num_heads, d_k].
      value: [batch, length, num_heads, d_v].
      visible: of these rows, with a reach.

    Returns:
      query: [batch * num_blocks, num_queries, num_heads, d_k]; past a row's ends is
        padding, which is zero.
      key: [batch * num_blocks, num_keys, num_heads, d_k], likewise.
      value: [batch * num_blocks, num_keys, num_heads, d_v], likewise.
      mask: boolean [batch * num_blocks, 1, num_queries, num_keys].
    """
    reach = visible.reach or 0
    size, num_keys = _block_sizes(reach, visible.is_causal)
    num_after = num_keys // size - 2  # Blocks; there is one before.

    def own(x: jax.Array) -> jax.Array:
        return _cut(x, size, 0, 0)

    def near(x: jax.Array) -> jax.Array:
        return _cut(x, size, 1, num_after)

    visible_near = Visibility(own(visible.query_segments), near(visible.key_segments))
    band = band_mask(size, num_keys, reach, num_after * reach, first_key=-size)
    return own(query), near(key), near(value), visible_near.mask() & band


def from_blocks(x: jax.Array, batch: int, length: int) -> jax.Array:
    """Put [batch * num_blocks, num_queries, ...] together: [batch, length, ...]."""
    return x.reshape(batch, -1, *x.shape[2:])[:, :length]


def _block_sizes(reach: int, is_causal: bool) -> tuple[int, int]:
    """Return how many queries a block has, and how many keys they meet."""
    num_queries = max(reach, 1)
    return num_queries, (2 if is_causal else 3) * num_queries


def _cut(x: jax.Array, size: int, num_before: int, num_after: int) -> jax.Array:
    """Return each block of [batch, length, ...] side by side with those around it.

    Returns:
      [batch * num_blocks, (num_before + 1 + num_after) * size, ...].
    """
    batch, length, *rest = x.shape
    num_blocks = -(-length // size)
    room = [(0, 0)] * x.ndim
    room[1] = (num_before * size, num_blocks * size - length + num_after * size)
    padded = jnp.pad(x, room)
    blocks = [
        padded[:, first * size : (first + num_blocks) * size].reshape(
            batch * num_blocks, size, *rest
        )
        for first in range(num_before + 1 + num_after)
    ]
    return jnp.concatenate(blocks, axis=1)
