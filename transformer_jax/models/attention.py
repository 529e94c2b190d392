"""Scaled dot-product and multi-head attention, and its cache (Section 3.2)."""

from collections.abc import Callable

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.layers import Linear
from transformer_jax.models.positions import Rotate


@flax.struct.dataclass
class KeyValues:
    """What one attention layer looks at: projected keys and values.

    Attributes:
      key: [..., length, num_heads, d_k].
      value: [..., length, num_heads, d_v].
    """

    key: jax.Array
    value: jax.Array


def _masked_softmax(scores: jax.Array, mask: jax.Array | None) -> jax.Array:
    """Softmax along the last axis of float32 scores; zero where `mask` is False."""
    if mask is None:
        return jax.nn.softmax(scores, axis=-1)
    # The lowest finite number, not -inf: a fully masked row must not become NaN.
    scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
    return jnp.where(mask, jax.nn.softmax(scores, axis=-1), 0.0)


def scaled_dot_product_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: jax.Array | None = None,
    drop_weights: Callable[[jax.Array], jax.Array] | None = None,
) -> tuple[jax.Array, jax.Array]:
    """Average `value` by how well each query matches each key (Section 3.2.1).

    The softmax runs in float32, to keep bfloat16 stable; products round to their dtype.

    Args:
      query: [batch, query_length, num_heads, d_k].
      key: [batch, key_length, num_heads, d_k].
      value: [batch, key_length, num_heads, d_v].
      mask: boolean, broadcastable to [batch, num_heads, query_length, key_length]; True
        where a query may look. A query that may look nowhere gets a zero output.
      drop_weights: applied to the weights before they average; not in the paper.

    Returns:
      output: [batch, query_length, num_heads, d_v].
      weights: [batch, num_heads, query_length, key_length]; exactly zero where masked,
        before `drop_weights`.

    Raises:
      ValueError: if `query` and `key` differ in depth.
    """
    d_k = query.shape[-1]
    if key.shape[-1] != d_k:
        raise ValueError(
            f"query and key must have the same depth d_k, got query {query.shape} and "
            f"key {key.shape}. Project both to d_k first."
        )
    scores = jnp.einsum("bqhd,bkhd->bhqk", query / d_k**0.5, key).astype(jnp.float32)
    weights = _masked_softmax(scores, mask)
    weights = weights.astype(value.dtype)
    kept = weights if drop_weights is None else drop_weights(weights)
    return jnp.einsum("bhqk,bkhd->bqhd", kept, value), weights


def one_query_attention(
    query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array | None = None
) -> tuple[jax.Array, jax.Array]:
    """Do `scaled_dot_product_attention` for a single query, as in decoding (3.2.1).

    Sums of products in place of matrix products: those would first reorder all keys and
    values for the one query; on CPUs that takes more than twice as long.

    Args:
      query: [batch, 1, num_heads, d_k].
      key: [batch, key_length, num_heads, d_k].
      value: [batch, key_length, num_heads, d_v].
      mask: boolean, broadcastable to [batch, num_heads, 1, key_length].

    Returns:
      output: [batch, 1, num_heads, d_v].
      weights: [batch, num_heads, 1, key_length]; exactly zero where masked.
    """
    d_k = query.shape[-1]
    query = (query / d_k**0.5).astype(jnp.float32)
    scores = (query * key.astype(jnp.float32)).sum(axis=-1)
    weights = _masked_softmax(jnp.einsum("bkh->bhk", scores)[:, :, None], mask)
    weights = weights.astype(value.dtype)
    by_key = jnp.einsum("bhk->bkh", weights[:, :, 0]).astype(jnp.float32)
    output = (by_key[..., None] * value.astype(jnp.float32)).sum(axis=1, keepdims=True)
    return output.astype(value.dtype), weights


@flax.struct.dataclass
class Past:
    """Keys and values of the tokens so far, each hypothesis its own.

    The layouts are those of the matrices that one query meets, so that a step reorders
    nothing: on CPUs four times as fast as the layout of `KeyValues`.

    Attributes:
      key: [batch, num_hypotheses, num_heads, d_k, max_length].
      value: [batch, num_hypotheses, num_heads, max_length, d_v].
    """

    key: jax.Array
    value: jax.Array

    @property
    def max_length(self) -> int:
        """Tokens that there is room for."""
        return self.key.shape[-1]

    def grown(self, max_length: int) -> "Past":
        """Return the same with room for `max_length` tokens."""
        room, none = (0, max_length - self.max_length), (0, 0)
        return Past(
            jnp.pad(self.key, (none, none, none, none, room)),
            jnp.pad(self.value, (none, none, none, room, none)),
        )

    def with_token(self, key: jax.Array, value: jax.Array, index: jax.Array) -> "Past":
        """Put in [batch, num_hypotheses, num_heads, depth] of one token at `index`."""
        return Past(
            lax.dynamic_update_slice_in_dim(self.key, key[..., None], index, axis=4),
            lax.dynamic_update_slice_in_dim(
                self.value, value[..., None, :], index, axis=3
            ),
        )


def attention_to_past(query: jax.Array, past: Past, index: jax.Array) -> jax.Array:
    """Do `scaled_dot_product_attention` for the newest token alone (3.2.1).

    Args:
      query: [batch, num_hypotheses, num_heads, d_k].
      past: filled up to `index`.
      index: int32 scalar; later positions are not looked at.

    Returns:
      [batch, num_hypotheses, num_heads, d_v].
    """
    scores = jnp.einsum("bnhd,bnhdk->bnhk", query / query.shape[-1] ** 0.5, past.key)
    mask = (jnp.arange(past.max_length) <= index)[None, None, None]
    weights = _masked_softmax(scores.astype(jnp.float32), mask)
    weights = weights.astype(past.value.dtype)
    return jnp.einsum("bnhk,bnhkd->bnhd", weights, past.value)


class MultiHeadAttention(nn.Module):
    """Attention in several projected subspaces at once (Section 3.2.2).

    Attributes:
      d_model: width of what comes out.
      num_heads: h.
      d_k: depth of queries and keys in a head.
      d_v: depth of values in a head.
      use_bias: biases in the four projections; the paper has none.
      dropout_rate: on the attention weights; not in the paper, tensor2tensor has it.
      rotate: turns queries and keys by their positions; None, as in the paper, leaves
        positions to the embeddings.
      dtype: what to compute in.
    """

    d_model: int
    num_heads: int
    d_k: int
    d_v: int
    use_bias: bool = False
    dropout_rate: float = 0.0
    rotate: Rotate | None = None
    dtype: DTypeLike = jnp.float32

    def setup(self) -> None:
        def to_heads(depth: int, name: str) -> Linear:
            axes = ("heads", name)
            sizes = (self.num_heads, depth)
            return Linear(sizes, ("d_model",), axes, self.use_bias, self.dtype)

        self.query = to_heads(self.d_k, "d_k")
        self.key = to_heads(self.d_k, "d_k")
        self.value = to_heads(self.d_v, "d_v")
        self.output = Linear(
            (self.d_model,), ("heads", "d_v"), ("d_model",), self.use_bias, self.dtype
        )
        self.weights_dropout = Dropout(self.dropout_rate)

    def __call__(
        self,
        x: jax.Array,
        looked_at: jax.Array,
        mask: jax.Array | None,
        dropout: DropoutBits | None = None,
        *,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Let each position of `x` look at the positions of `looked_at`.

        Args:
          x: [batch, query_length, d_model].
          looked_at: [batch, key_length, d_model]; `x` itself in self-attention.
          mask: boolean [batch, 1, query_length, key_length] or None; see
            `scaled_dot_product_attention`.
          dropout: randomness, or None to keep all weights.
          positions: [batch or 1, length or 1] of `x` and of `looked_at`, in
            self-attention; None where both sides have positions of their own.

        Returns:
          [batch, query_length, d_model].
        """
        projected = self.project(looked_at, positions)
        return self.attend(x, projected, mask, dropout, positions=positions)

    def project(
        self, looked_at: jax.Array, positions: jax.Array | None = None
    ) -> KeyValues:
        """Project [batch, length, d_model] to keys and values, for many queries."""
        key = self._turn(self.key(looked_at), positions)
        return KeyValues(key, self.value(looked_at))

    def attend(
        self,
        x: jax.Array,
        projected: KeyValues,
        mask: jax.Array | None,
        dropout: DropoutBits | None = None,
        *,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Do `__call__` with the keys and values already projected.

        The place that chooses how attention is computed, but for the newest token's
        look at its past, which is `attention_to_past`. The weights are sown into
        `intermediates` as `attention_weights` [batch, num_heads, query_length,
        key_length] if the caller made that collection mutable, else they go nowhere.
        """
        query = self._turn(self.query(x), positions)
        key, value = projected.key, projected.value
        if query.shape[1] == 1 and dropout is None:
            output, weights = one_query_attention(query, key, value, mask)
        else:
            output, weights = scaled_dot_product_attention(
                query,
                key,
                value,
                mask,
                lambda weights: self.weights_dropout(weights, dropout),
            )
        self.sow("intermediates", "attention_weights", weights)
        return self.output(output)

    def step(
        self, x: jax.Array, past: Past, index: jax.Array
    ) -> tuple[jax.Array, Past]:
        """Take one step of masked self-attention for every hypothesis.

        Args:
          x: [batch, num_hypotheses, d_model], the position `index` of each.
          past: filled before `index`.
          index: int32 scalar, the same position for all.

        Returns:
          [batch, num_hypotheses, d_model], and `past` with `index` filled.
        """
        position = index.reshape(1, 1)
        new = self.project(x, position)
        past = past.with_token(new.key, new.value, index)
        query = self._turn(self.query(x), position)
        return self.output(attention_to_past(query, past, index)), past

    def _turn(self, projected: jax.Array, positions: jax.Array | None) -> jax.Array:
        """Turn queries or keys by their positions, where they act in attention."""
        if self.rotate is None or positions is None:
            return projected
        return self.rotate(projected, positions)
