"""The token table: scaled lookup and tied output logits (Section 3.4)."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from transformer_jax.models.layers import flat_product
from transformer_jax.models.parameters import parameter


class TokenEmbedding(nn.Module):
    """One vector for each piece, for looking up and for the logits (Section 3.4).

    Attributes:
      num_rows: size of the vocabulary, padded.
      d_model: width of the vectors.
      dtype: what to compute the logits' products in.
    """

    num_rows: int
    d_model: int
    dtype: DTypeLike = jnp.float32

    def setup(self) -> None:
        # The paper is silent; as in tensor2tensor: logits start with variance 1.
        init = nn.initializers.normal(self.d_model**-0.5)
        shape = (self.num_rows, self.d_model)
        self.embedding = parameter(self, "embedding", init, ("vocab", "d_model"), shape)

    def lookup(self, tokens: jax.Array, is_real: jax.Array | None = None) -> jax.Array:
        """Look tokens up and multiply by sqrt(d_model).

        Args:
          tokens: [batch, length] ids below `num_rows`.
          is_real: boolean [batch, length]; where False the vector is zero, and so is
            the gradient that reaches the table. None means everywhere True.

        Returns:
          float32 [batch, length, d_model].
        """
        vectors = jnp.take(self.embedding, tokens, axis=0)
        if is_real is None:
            return vectors * self.d_model**0.5
        return vectors * jnp.where(is_real, self.d_model**0.5, 0.0)[..., None]

    def logits(self, x: jax.Array) -> jax.Array:
        """Score every piece by its product with the unscaled table.

        Args:
          x: [batch, length, d_model].

        Returns:
          [batch, length, num_rows] in `dtype`.
        """
        return flat_product(x, self.embedding.T, 1, self.dtype)

    def precise_logits(self, x: jax.Array) -> jax.Array:
        """Do `logits` with float32 sums not rounded to `dtype`: for searching.

        A search compares sums of many log-probabilities; a loss averages over them, and
        there the array is large and wants to be narrow.
        """
        table = self.embedding.T.astype(self.dtype)
        return jnp.dot(x.astype(self.dtype), table, preferred_element_type=jnp.float32)


def mask_padded_vocabulary(logits: jax.Array, vocab_size: int) -> jax.Array:
    """Make the padding rows of the vocabulary impossible.

    Args:
      logits: [..., num_rows].
      vocab_size: V, at most `num_rows`.

    Returns:
      The logits, with the lowest finite number at ids from V on.
    """
    num_rows = logits.shape[-1]
    if num_rows == vocab_size:
        return logits
    is_piece = (jnp.arange(num_rows) < vocab_size).reshape(
        *(1,) * (logits.ndim - 1), -1
    )
    return jnp.where(is_piece, logits, jnp.finfo(logits.dtype).min)
