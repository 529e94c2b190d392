"""Which position may look at which (Section 3.2.3).

It travels as segments and causality: 0 on padding, 1, 2, ... for the sentences that
share a row. Whoever computes attention makes of it what it needs, such as a mask.
"""

import flax.struct
import jax
import jax.numpy as jnp


@flax.struct.dataclass
class Visibility:
    """What each query of an attention may look at: its own sentence, real positions.

    A padded query may look nowhere.

    Attributes:
      query_segments: [batch, query_length], 0 on padding.
      key_segments: [batch, key_length], 0 on padding.
      is_causal: whether a position may look only at itself and at what stands before it
        in the row; both sides are then the same.
      reach: how far from itself a position may look, to either side; both sides of
        the attention are then the same. None: at any distance.
    """

    query_segments: jax.Array
    key_segments: jax.Array
    is_causal: bool = flax.struct.field(pytree_node=False, default=False)
    reach: int | None = flax.struct.field(pytree_node=False, default=None)

    def mask(self) -> jax.Array:
        """Return [batch, 1, query_length, key_length], True where looking is allowed.

        One for all heads.
        """
        query, key = self.query_segments, self.key_segments
        is_same = query[:, None, :, None] == key[:, None, None, :]
        mask = is_same & padding_mask(key)
        if self.is_causal:
            mask &= causal_mask(query.shape[1])
        if self.reach is not None:
            mask &= band_mask(query.shape[1], key.shape[1], self.reach, self.reach)
        return mask


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


def band_mask(
    num_queries: int, num_keys: int, before: int, after: int, first_key: int = 0
) -> jax.Array:
    """Let a position look at those near it alone (Section 4).

    Args:
      num_queries: positions that look, of the row's 0, 1, ...
      num_keys: positions that are looked at, side by side.
      before: how many before itself a position may look at.
      after: how many after itself.
      first_key: the position of the first key.

    Returns:
      boolean [1, 1, num_queries, num_keys].
    """
    query = jnp.arange(num_queries)[:, None]
    key = first_key + jnp.arange(num_keys)[None, :]
    return ((query - before <= key) & (key <= query + after))[None, None]
