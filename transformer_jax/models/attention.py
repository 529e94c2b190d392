"""Scaled dot-product and multi-head attention (Section 3.2)."""

from collections.abc import Callable
from typing import Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from transformer_jax.models.attention_cache import (
    Memory,
    Past,
    attention_to_memory,
    attention_to_past,
)
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.layers import Linear, joint_product
from transformer_jax.models.masks import Visibility
from transformer_jax.models.positions import Rotate
from transformer_jax.models.restricted_attention import (
    from_blocks,
    goes_by_blocks,
    into_blocks,
)
from transformer_jax.models.softmax import (
    AttentionScaling,
    masked_softmax,
    scaled_query,
)

AttentionImplementation = Literal["auto", "plain", "fused"]
Projections = Literal["auto", "joint", "apart"]

# "auto" is fused from this many keys on: below it the plain one's scores are small.
_LEAST_FUSED_KEYS = 256
# What cuDNN's kernel takes, from the Ampere generation on.
_CUDNN_LEAST_CAPABILITY = 8
_CUDNN_MAX_DEPTH, _CUDNN_DEPTH_MULTIPLE, _CUDNN_LENGTH_MULTIPLE = 128, 8, 2


def scaled_dot_product_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: jax.Array | None = None,
    drop_weights: Callable[[jax.Array], jax.Array] | None = None,
    scaling: AttentionScaling = "sqrt_d_k",
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
      scaling: of the scores; "none" is dot-product attention, which the paper compares.

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
    query = scaled_query(query, scaling)
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key).astype(jnp.float32)
    weights = masked_softmax(scores, mask).astype(value.dtype)
    kept = weights if drop_weights is None else drop_weights(weights)
    return jnp.einsum("bhqk,bkhd->bqhd", kept, value), weights


def fused_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: jax.Array | None,
    scaling: AttentionScaling = "sqrt_d_k",
) -> jax.Array:
    """Do `scaled_dot_product_attention` without its weights, by a kernel (3.2.1).

    On a GPU that is cuDNN's, where it takes these sizes and types: scores are never
    written, of what grows with the square of the length only the mask is left, the same
    for all heads. Elsewhere it is XLA's own program.

    Args:
      query: [batch, query_length, num_heads, depth].
      key: [batch, key_length, num_heads, depth].
      value: [batch, key_length, num_heads, depth].
      mask: boolean [batch, 1, query_length, key_length], or None.
      scaling: of the scores.

    Returns:
      [batch, query_length, num_heads, depth]; zero for a query that may look nowhere.
    """
    output = jax.nn.dot_product_attention(
        query,
        key,
        value,
        mask=mask,
        scale=None if scaling == "sqrt_d_k" else 1.0,
        implementation="cudnn" if _cudnn_takes(query, key) else "xla",
    )
    if mask is None:
        return output
    looks_somewhere = mask.any(axis=-1).swapaxes(1, 2)[..., None]  # [b, q, 1, 1]
    return jnp.where(looks_somewhere, output, jnp.zeros_like(output))


def _cudnn_takes(query: jax.Array, key: jax.Array) -> bool:
    lengths, depth = (query.shape[1], key.shape[1]), query.shape[-1]
    # Of GPUs alone; "9.0" is an H100's.
    capability = float(getattr(jax.devices()[0], "compute_capability", 0))
    return (
        capability >= _CUDNN_LEAST_CAPABILITY
        and query.dtype == jnp.bfloat16
        and depth <= _CUDNN_MAX_DEPTH
        and depth % _CUDNN_DEPTH_MULTIPLE == 0
        and all(length % _CUDNN_LENGTH_MULTIPLE == 0 for length in lengths)
    )


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
      scaling: of the scores (Section 3.2.1).
      implementation: how attention is computed; see `_is_fused`.
      projections: whether those of one input are one product; see `_project`.
      dtype: what to compute in.
      init_stddev: of the projections; see `Linear`.
    """

    d_model: int
    num_heads: int
    d_k: int
    d_v: int
    use_bias: bool = False
    dropout_rate: float = 0.0
    rotate: Rotate | None = None
    scaling: AttentionScaling = "sqrt_d_k"
    implementation: AttentionImplementation = "auto"
    projections: Projections = "auto"
    dtype: DTypeLike = jnp.float32
    init_stddev: float | None = None

    def setup(self) -> None:
        rest = self.use_bias, self.dtype, self.init_stddev

        def to_heads(depth: int, name: str) -> Linear:
            sizes, axes = (self.num_heads, depth), ("heads", name)
            return Linear((self.d_model,), sizes, ("d_model",), axes, *rest)

        self.query = to_heads(self.d_k, "d_k")
        self.key = to_heads(self.d_k, "d_k")
        self.value = to_heads(self.d_v, "d_v")
        self.output = Linear(
            (self.num_heads, self.d_v),
            (self.d_model,),
            ("heads", "d_v"),
            ("d_model",),
            *rest,
        )
        self.weights_dropout = Dropout(self.dropout_rate)

    def __call__(
        self,
        x: jax.Array,
        visible: Visibility | None,
        dropout: DropoutBits | None = None,
        *,
        memory: jax.Array | None = None,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Let each position of `x` look at positions of `x` itself, or of a memory.

        The weights are sown into `intermediates` as `attention_weights` [batch,
        num_heads, query_length, key_length] if the caller made that collection mutable,
        else they go nowhere.

        Args:
          x: [batch, query_length, d_model].
          visible: which position may look at which; None: each at all.
          dropout: randomness, or None to keep all weights.
          memory: [batch, key_length, d_model]; None in self-attention.
          positions: [batch or 1, length or 1] of `x`, in self-attention.

        Returns:
          [batch, query_length, d_model].
        """
        if memory is None:
            query, key, value = self._project_self(x, positions)
        else:
            query = self.query(x)
            key, value = self._project(memory, self.key, self.value)
        return self.output(self._attend(query, key, value, visible, dropout))

    def project_memory(self, memory: jax.Array) -> Memory:
        """Project [batch, source_length, d_model] once, for the steps of decoding."""
        key, value = self._project(memory, self.key, self.value)
        return Memory(jnp.einsum("bkhd->bhkd", key), jnp.einsum("bkhd->bhdk", value))

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
        query, key, value = self._project_self(x, index.reshape(1, 1))
        past = past.with_token(key, value, index)
        output = attention_to_past(query, past, index, self.scaling)
        return self.output(output), past

    def step_to_memory(
        self, x: jax.Array, memory: Memory, mask: jax.Array
    ) -> jax.Array:
        """Take one step of attention to the memory for every hypothesis.

        Args:
          x: [batch, num_hypotheses, d_model].
          memory: of each sentence; never copied for its hypotheses.
          mask: boolean [batch, 1, 1, source_length], True at real positions.

        Returns:
          [batch, num_hypotheses, d_model].
        """
        query = self.query(x)
        return self.output(attention_to_memory(query, memory, mask, self.scaling))

    def _project(self, x: jax.Array, *maps: Linear) -> list[jax.Array]:
        """Apply several of the projections to [batch, length, d_model].

        "auto" makes them one product on accelerators. On two cores the step of a narrow
        model takes 5 % longer so: cutting the result costs more than is saved.
        """
        is_on_cpu = jax.default_backend() == "cpu"
        if self.projections == "apart" or (self.projections == "auto" and is_on_cpu):
            return [project(x) for project in maps]
        return joint_product(x, maps)

    def _project_self(
        self, x: jax.Array, positions: jax.Array | None
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return query, key, value of `x`: each [batch, length, num_heads, depth]."""
        query, key, value = self._project(x, self.query, self.key, self.value)
        if self.rotate is not None and positions is not None:
            query, key = self.rotate(query, positions), self.rotate(key, positions)
        return query, key, value

    def _attend(
        self,
        query: jax.Array,
        key: jax.Array,
        value: jax.Array,
        visible: Visibility | None,
        dropout: DropoutBits | None,
    ) -> jax.Array:
        """Attend by the way that fits; sow the weights of whole rows if asked for."""
        if visible is None:
            return self._attend_rows(query, key, value, None, dropout)
        if self._shows_weights() or not goes_by_blocks(visible):
            return self._attend_rows(query, key, value, visible.mask(), dropout)
        blocks = into_blocks(query, key, value, visible)
        return from_blocks(self._attend_rows(*blocks, dropout), *query.shape[:2])

    def _attend_rows(
        self,
        query: jax.Array,
        key: jax.Array,
        value: jax.Array,
        mask: jax.Array | None,
        dropout: DropoutBits | None,
    ) -> jax.Array:
        if self._is_fused(query, key, dropout):
            return fused_attention(query, key, value, mask, self.scaling)
        output, weights = scaled_dot_product_attention(
            query,
            key,
            value,
            mask,
            lambda weights: self._drop_weights(weights, dropout),
            self.scaling,
        )
        self.sow("intermediates", "attention_weights", weights)
        return output

    def _drop_weights(
        self, weights: jax.Array, dropout: DropoutBits | None
    ) -> jax.Array:
        """Drop some of [rows or their blocks, num_heads, num_queries, num_keys]."""
        if dropout is None:
            return weights
        of_rows = weights.reshape(len(dropout.rows), -1, *weights.shape[2:])
        return self.weights_dropout(of_rows, dropout).reshape(weights.shape)

    def _shows_weights(self) -> bool:
        return self.is_mutable_collection("intermediates")

    def _is_fused(
        self, query: jax.Array, key: jax.Array, dropout: DropoutBits | None
    ) -> bool:
        """Choose how to attend.

        A kernel keeps no weights, neither to drop some nor to show them. "auto" takes
        cuDNN's for long rows.
        """
        if self._shows_weights() or self.implementation == "plain":
            return False
        if self.implementation == "fused":
            return True
        return (
            _cudnn_takes(query, key)
            and key.shape[1] >= _LEAST_FUSED_KEYS
            and self.d_k == self.d_v
            and (dropout is None or self.dropout_rate == 0.0)
        )
