"""What the newest token alone looks at, laid out as the matrices that it meets (3.2).

A step of decoding has one query for each hypothesis, and nothing is reordered in it: on
CPUs that takes a quarter of the time of [length, num_heads, depth]. The queries to a
memory come several at a time, and such products are fastest summed over both factors'
last axes; a past has one query, and a new token is written fastest side by side.
"""

import flax.struct
import jax
import jax.numpy as jnp
from jax import lax

from transformer_jax.models.softmax import (
    AttentionScaling,
    masked_softmax,
    scaled_query,
)


@flax.struct.dataclass
class Memory:
    """Keys and values of a sentence's memory, shared by all of its hypotheses.

    Attributes:
      key: [batch, num_heads, source_length, d_k].
      value: [batch, num_heads, d_v, source_length].
    """

    key: jax.Array
    value: jax.Array


@flax.struct.dataclass
class Past:
    """Keys and values of the tokens so far, each hypothesis its own.

    With room for fewer tokens than there are, it holds the last ones, in a ring.

    Attributes:
      key: [batch, num_hypotheses, num_heads, max_length, d_k].
      value: [batch, num_hypotheses, num_heads, max_length, d_v].
    """

    key: jax.Array
    value: jax.Array

    @property
    def max_length(self) -> int:
        """Tokens that there is room for."""
        return self.key.shape[-2]

    def grown(self, max_length: int) -> "Past":
        """Return the same with room for `max_length` tokens."""
        room = ((0, 0), (0, 0), (0, 0), (0, max_length - self.max_length), (0, 0))
        return Past(jnp.pad(self.key, room), jnp.pad(self.value, room))

    def with_token(self, key: jax.Array, value: jax.Array, index: jax.Array) -> "Past":
        """Put in [batch, num_hypotheses, num_heads, depth] of the token `index`."""
        place = lax.rem(index, self.max_length)

        def put(kept: jax.Array, new: jax.Array) -> jax.Array:
            new = new[..., None, :]
            return lax.dynamic_update_slice_in_dim(kept, new, place, axis=3)

        return Past(put(self.key, key), put(self.value, value))


def attention_to_past(
    query: jax.Array,
    past: Past,
    index: jax.Array,
    scaling: AttentionScaling = "sqrt_d_k",
) -> jax.Array:
    """Let each hypothesis look at its own tokens up to the newest (3.2.1, 3.2.3).

    Args:
      query: [batch, num_hypotheses, num_heads, d_k].
      past: filled up to `index`.
      index: int32 scalar; places behind it are not looked at, as nothing is there yet.
      scaling: of the scores.

    Returns:
      [batch, num_hypotheses, num_heads, d_v].
    """
    scores = jnp.einsum("bnhd,bnhkd->bnhk", scaled_query(query, scaling), past.key)
    mask = (jnp.arange(past.max_length) <= index)[None, None, None]
    weights = masked_softmax(scores.astype(jnp.float32), mask)
    weights = weights.astype(past.value.dtype)
    return jnp.einsum("bnhk,bnhkd->bnhd", weights, past.value)


def attention_to_memory(
    query: jax.Array,
    memory: Memory,
    mask: jax.Array,
    scaling: AttentionScaling = "sqrt_d_k",
) -> jax.Array:
    """Let each hypothesis look at its sentence (3.2.1).

    Args:
      query: [batch, num_hypotheses, num_heads, d_k].
      memory: of the sentences.
      mask: boolean [batch, 1, 1, source_length], True at real positions.
      scaling: of the scores.

    Returns:
      [batch, num_hypotheses, num_heads, d_v].
    """
    scores = jnp.einsum("bnhd,bhkd->bhnk", scaled_query(query, scaling), memory.key)
    weights = masked_softmax(scores.astype(jnp.float32), mask)
    weights = weights.astype(memory.value.dtype)
    return jnp.einsum("bhnk,bhdk->bnhd", weights, memory.value)
