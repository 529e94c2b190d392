"""Encoder and decoder: their layers and stacks (Section 3.1)."""

from collections.abc import Callable

import flax.linen as nn
import jax

from transformer_jax.models.attention import MultiHeadAttention
from transformer_jax.models.attention_cache import Memory, Past
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.dropout import DropoutBits
from transformer_jax.models.layer_scan import apply_layers
from transformer_jax.models.layers import FeedForward, Residual
from transformer_jax.models.masks import Visibility
from transformer_jax.models.norms import make_norm
from transformer_jax.models.positions import POSITIONS


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    rotate = POSITIONS[config.positions].rotate
    return MultiHeadAttention(
        d_model=config.d_model,
        num_heads=config.num_heads,
        d_k=config.key_depth,
        d_v=config.value_depth,
        use_bias=config.use_attention_bias,
        dropout_rate=config.attention_dropout_rate,
        rotate=None if rotate is None else rotate(config),
        scaling=config.attention_scaling,
        implementation=config.attention_implementation,
        projections=config.attention_projections,
        dtype=config.dtype,
        init_stddev=config.init_stddev,
    )


def _feed_forward(config: TransformerConfig) -> FeedForward:
    return FeedForward(
        d_ff=config.d_ff,
        activation=config.activation,
        dropout_rate=config.feed_forward_dropout_rate,
        dtype=config.dtype,
        init_stddev=config.init_stddev,
    )


def _residual(config: TransformerConfig) -> Residual:
    return Residual(
        dropout_rate=config.dropout_rate,
        norm_position=config.norm_position,
        norm_kind=config.norm_kind,
        norm_epsilon=config.norm_epsilon,
        dtype=config.dtype,
    )


def _final_norm(config: TransformerConfig) -> Callable[[jax.Array], jax.Array]:
    """Return what ends a stack: with pre-norm, a norm of what was only added up."""
    if config.norm_position == "pre":
        return make_norm(config.norm_kind, config.norm_epsilon, config.dtype)
    return lambda x: x


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (Section 3.1)."""

    config: TransformerConfig

    def setup(self) -> None:
        self.self_attention = _attention(self.config)
        self.self_attention_residual = _residual(self.config)
        self.feed_forward = _feed_forward(self.config)
        self.feed_forward_residual = _residual(self.config)

    def __call__(
        self,
        x: jax.Array,
        visible: Visibility,
        dropout: DropoutBits | None,
        *,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Transform positions.

        Args:
          x: [batch, source_length, d_model].
          visible: which position may look at which.
          dropout: randomness, or None for none.
          positions: [batch or 1, source_length]; None where attention needs none.

        Returns:
          [batch, source_length, d_model].
        """
        x = self.self_attention_residual(
            x,
            lambda x: self.self_attention(x, visible, dropout, positions=positions),
            dropout,
        )
        return self.feed_forward_residual(
            x, lambda x: self.feed_forward(x, dropout), dropout
        )


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the memory, feed-forward (Section 3.1)."""

    config: TransformerConfig

    def setup(self) -> None:
        self.self_attention = _attention(self.config)
        self.self_attention_residual = _residual(self.config)
        self.cross_attention = _attention(self.config)
        self.cross_attention_residual = _residual(self.config)
        self.feed_forward = _feed_forward(self.config)
        self.feed_forward_residual = _residual(self.config)

    def __call__(
        self,
        x: jax.Array,
        memory: jax.Array,
        visible: Visibility,
        visible_memory: Visibility,
        dropout: DropoutBits | None,
        *,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Transform positions.

        Args:
          x: [batch, target_length, d_model].
          memory: [batch, source_length, d_model].
          visible: which position may look at which.
          visible_memory: which position may look at which of the memory.
          dropout: randomness, or None for none.
          positions: [batch or 1, target_length]; None where attention needs none.

        Returns:
          [batch, target_length, d_model].
        """
        x = self.self_attention_residual(
            x,
            lambda x: self.self_attention(x, visible, dropout, positions=positions),
            dropout,
        )
        x = self.cross_attention_residual(
            x,
            lambda x: self.cross_attention(x, visible_memory, dropout, memory=memory),
            dropout,
        )
        return self.feed_forward_residual(
            x, lambda x: self.feed_forward(x, dropout), dropout
        )

    def project_memory(self, memory: jax.Array) -> Memory:
        """Project [batch, source_length, d_model] for cross-attention, once."""
        return self.cross_attention.project_memory(memory)

    def step(
        self,
        x: jax.Array,
        memory: Memory,
        memory_mask: jax.Array,
        past: Past,
        index: jax.Array,
    ) -> tuple[jax.Array, Past]:
        """Transform one position of every hypothesis.

        Args:
          x: [batch, num_hypotheses, d_model].
          memory: of each sentence, as `project_memory` returns it.
          memory_mask: boolean [batch, 1, 1, source_length].
          past: filled before `index`.
          index: int32 scalar, the position.

        Returns:
          [batch, num_hypotheses, d_model], and `past` with `index` filled.
        """
        residual = self.self_attention_residual
        output, past = self.self_attention.step(residual.enter(x), past, index)
        x = residual.leave(x, output)
        x = self.cross_attention_residual(
            x, lambda x: self.cross_attention.step_to_memory(x, memory, memory_mask)
        )
        return self.feed_forward_residual(x, self.feed_forward), past


class Encoder(nn.Module):
    """N encoder layers; with pre-norm, a norm at the end (Section 3.1)."""

    config: TransformerConfig

    def setup(self) -> None:
        config = self.config
        self.layer = [EncoderLayer(config) for _ in range(config.num_encoder_layers)]
        self.norm = _final_norm(config)

    def __call__(
        self,
        x: jax.Array,
        visible: Visibility,
        dropout: DropoutBits | None,
        *,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Apply all layers; shapes as in `EncoderLayer`."""
        x = apply_layers(
            self,
            lambda layer, x, dropout: layer(x, visible, dropout, positions=positions),
            x,
            dropout,
        )
        return self.norm(x)


class Decoder(nn.Module):
    """N decoder layers; with pre-norm, a norm at the end (Section 3.1)."""

    config: TransformerConfig

    def setup(self) -> None:
        config = self.config
        self.layer = [DecoderLayer(config) for _ in range(config.num_decoder_layers)]
        self.norm = _final_norm(config)

    def __call__(
        self,
        x: jax.Array,
        memory: jax.Array,
        visible: Visibility,
        visible_memory: Visibility,
        dropout: DropoutBits | None,
        *,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Apply all layers; shapes as in `DecoderLayer`."""
        x = apply_layers(
            self,
            lambda layer, x, dropout: layer(
                x, memory, visible, visible_memory, dropout, positions=positions
            ),
            x,
            dropout,
        )
        return self.norm(x)

    def project_memory(self, memory: jax.Array) -> tuple[Memory, ...]:
        """Project [batch, source_length, d_model] for every layer."""
        return tuple(layer.project_memory(memory) for layer in self.layer)

    def step(
        self,
        x: jax.Array,
        memory: tuple[Memory, ...],
        memory_mask: jax.Array,
        past: tuple[Past, ...],
        index: jax.Array,
    ) -> tuple[jax.Array, tuple[Past, ...]]:
        """Apply all layers to one position; shapes as in `DecoderLayer.step`."""
        new_past = []
        for layer, of_memory, of_past in zip(self.layer, memory, past, strict=True):
            x, of_past = layer.step(x, of_memory, memory_mask, of_past, index)
            new_past.append(of_past)
        return self.norm(x), tuple(new_past)
