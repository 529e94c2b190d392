"""Attention of a recurrent state to a source: additive and multiplicative.

Bahdanau et al. 2015 (arXiv 1409.0473); Luong et al. 2015 (arXiv 1508.04025).
"""

from collections.abc import Callable
from typing import Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from transformer_jax.models.layers import Linear, flat_product
from transformer_jax.models.parameters import parameter
from transformer_jax.models.softmax import masked_softmax

Score = Literal["additive", "multiplicative"]


def additive_scores(query: jax.Array, key: jax.Array, vector: jax.Array) -> jax.Array:
    """Score v^T tanh(W s + U h) (Bahdanau et al., Section A.1.2).

    Args:
      query: W s, [batch, num_hypotheses, d_attention].
      key: U h, [batch, source_length, d_attention].
      vector: v, [d_attention].

    Returns:
      float32 [batch, num_hypotheses, source_length].
    """
    hidden = jnp.tanh(query[:, :, None] + key[:, None])
    return jnp.einsum("bnsd,d->bns", hidden, vector.astype(hidden.dtype)).astype(
        jnp.float32
    )


def multiplicative_scores(query: jax.Array, key: jax.Array) -> jax.Array:
    """Score s^T W h (Luong et al., Section 3.1); shapes as in `additive_scores`."""
    return jnp.einsum("bnd,bsd->bns", query, key).astype(jnp.float32)


class RecurrentCrossAttention(nn.Module):
    """From a state to a mean of the encoder's states, by how well each fits.

    Attributes:
      score: which fits.
      d_state: width of the state that looks.
      d_memory: width of what is looked at.
      d_attention: hidden width of the additive score.
      dtype: what to compute in.
    """

    score: Score
    d_state: int
    d_memory: int
    d_attention: int
    dtype: DTypeLike = jnp.float32

    def setup(self) -> None:
        is_additive = self.score == "additive"
        width = self.d_attention if is_additive else self.d_state
        self.key = Linear(
            (self.d_memory,),
            (width,),
            ("d_memory",),
            ("d_attention",),
            False,
            self.dtype,
        )
        if is_additive:
            self.query = Linear(
                (self.d_state,), (width,), ("d_state",), ("d_attention",)
            )
            # The fan of one output.
            init = nn.initializers.normal(width**-0.5)
            self.vector = parameter(self, "vector", init, ("d_attention",), (width,))

    def attender(self) -> Callable[..., tuple[jax.Array, jax.Array]]:
        """Return the attention as a function of arrays alone, for a scan's body.

        It takes hidden vectors [batch, num_hypotheses, d_state], keys [batch,
        source_length, d_attention], the memory [batch, source_length, d_memory] and a
        boolean mask [batch, 1, source_length], True where looking is allowed. It
        returns contexts [batch, num_hypotheses, d_memory] and weights float32 [batch,
        num_hypotheses, source_length].
        """
        if self.score == "additive":
            kernel, vector = self.query.kernel, self.vector

            # Its hidden layer is large and quick: better made anew than kept.
            @jax.checkpoint
            def scores(hidden: jax.Array, key: jax.Array) -> jax.Array:
                query = flat_product(hidden, kernel, 1, self.dtype)
                return additive_scores(query, key, vector)
        else:

            def scores(hidden: jax.Array, key: jax.Array) -> jax.Array:
                return multiplicative_scores(hidden.astype(self.dtype), key)

        def attend(
            hidden: jax.Array, key: jax.Array, memory: jax.Array, mask: jax.Array
        ) -> tuple[jax.Array, jax.Array]:
            weights = masked_softmax(scores(hidden, key), mask)
            context = jnp.einsum("bns,bsm->bnm", weights.astype(memory.dtype), memory)
            return context, weights

        return attend

    def keep(self, weights: jax.Array) -> None:
        """Sow [batch, target_length, source_length] as the weights of one head."""
        self.sow("intermediates", "attention_weights", weights[:, None])
