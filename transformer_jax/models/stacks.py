"""Encoder and decoder: their layers and stacks (Section 3.1)."""

import flax.linen as nn
import jax

from transformer_jax.models.attention import KeyValues, MultiHeadAttention
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.dropout import DropoutBits
from transformer_jax.models.layers import FeedForward, LayerNorm, Residual


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        d_model=config.d_model,
        num_heads=config.num_heads,
        d_k=config.key_depth,
        d_v=config.value_depth,
        use_bias=config.use_attention_bias,
        dropout_rate=config.attention_dropout_rate,
        dtype=config.dtype,
    )


def _feed_forward(config: TransformerConfig) -> FeedForward:
    return FeedForward(
        d_ff=config.d_ff,
        activation=config.activation,
        dropout_rate=config.feed_forward_dropout_rate,
        dtype=config.dtype,
    )


def _residual(config: TransformerConfig) -> Residual:
    return Residual(
        dropout_rate=config.dropout_rate,
        norm_position=config.norm_position,
        norm_epsilon=config.norm_epsilon,
        dtype=config.dtype,
    )


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (Section 3.1)."""

    config: TransformerConfig

    def setup(self) -> None:
        self.self_attention = _attention(self.config)
        self.self_attention_residual = _residual(self.config)
        self.feed_forward = _feed_forward(self.config)
        self.feed_forward_residual = _residual(self.config)

    def __call__(
        self, x: jax.Array, mask: jax.Array, dropout: DropoutBits | None
    ) -> jax.Array:
        """Transform positions.

        Args:
          x: [batch, source_length, d_model].
          mask: boolean [batch, 1, source_length, source_length].
          dropout: randomness, or None for none.

        Returns:
          [batch, source_length, d_model].
        """
        x = self.self_attention_residual(
            x, lambda x: self.self_attention(x, x, mask, dropout), dropout
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
        self_mask: jax.Array,
        cross_mask: jax.Array,
        dropout: DropoutBits | None,
    ) -> jax.Array:
        """Transform positions.

        Args:
          x: [batch, target_length, d_model].
          memory: [batch, source_length, d_model].
          self_mask: boolean [batch, 1, target_length, target_length].
          cross_mask: boolean [batch, 1, target_length, source_length].
          dropout: randomness, or None for none.

        Returns:
          [batch, target_length, d_model].
        """
        x = self.self_attention_residual(
            x, lambda x: self.self_attention(x, x, self_mask, dropout), dropout
        )
        x = self.cross_attention_residual(
            x, lambda x: self.cross_attention(x, memory, cross_mask, dropout), dropout
        )
        return self.feed_forward_residual(
            x, lambda x: self.feed_forward(x, dropout), dropout
        )

    def project_memory(self, memory: jax.Array) -> KeyValues:
        """Project [batch, source_length, d_model] for cross-attention, once."""
        return self.cross_attention.project(memory)

    def step(
        self,
        x: jax.Array,
        memory: KeyValues,
        memory_mask: jax.Array,
        past: KeyValues,
        index: jax.Array,
    ) -> tuple[jax.Array, KeyValues]:
        """Transform one position of every hypothesis.

        Args:
          x: [batch, num_hypotheses, d_model].
          memory: keys and values [batch, source_length, num_heads, depth]. The
            hypotheses of a sentence are queries to it side by side, so it is never
            copied for them.
          memory_mask: boolean [batch, 1, 1, source_length].
          past: keys and values [batch, num_hypotheses, max_length, num_heads, depth].
          index: int32 scalar, the position.

        Returns:
          [batch, num_hypotheses, d_model], and `past` with `index` filled.
        """
        new_past = past

        def self_attention(x: jax.Array) -> jax.Array:
            nonlocal new_past
            output, new_past = self.self_attention.step(x, past, index)
            return output

        x = self.self_attention_residual(x, self_attention)
        x = self.cross_attention_residual(
            x, lambda x: self.cross_attention.attend(x, memory, memory_mask)
        )
        return self.feed_forward_residual(x, self.feed_forward), new_past


class Encoder(nn.Module):
    """N encoder layers; with pre-norm, a norm at the end (Section 3.1)."""

    config: TransformerConfig

    def setup(self) -> None:
        config = self.config
        self.layer = [EncoderLayer(config) for _ in range(config.num_encoder_layers)]
        if config.norm_position == "pre":
            self.norm = LayerNorm(config.norm_epsilon, config.dtype)

    def __call__(
        self, x: jax.Array, mask: jax.Array, dropout: DropoutBits | None
    ) -> jax.Array:
        """Apply all layers; shapes as in `EncoderLayer`."""
        for layer in self.layer:
            x = layer(x, mask, dropout)
        return self.norm(x) if self.config.norm_position == "pre" else x


class Decoder(nn.Module):
    """N decoder layers; with pre-norm, a norm at the end (Section 3.1)."""

    config: TransformerConfig

    def setup(self) -> None:
        config = self.config
        self.layer = [DecoderLayer(config) for _ in range(config.num_decoder_layers)]
        if config.norm_position == "pre":
            self.norm = LayerNorm(config.norm_epsilon, config.dtype)

    def __call__(
        self,
        x: jax.Array,
        memory: jax.Array,
        self_mask: jax.Array,
        cross_mask: jax.Array,
        dropout: DropoutBits | None,
    ) -> jax.Array:
        """Apply all layers; shapes as in `DecoderLayer`."""
        for layer in self.layer:
            x = layer(x, memory, self_mask, cross_mask, dropout)
        return self.norm(x) if self.config.norm_position == "pre" else x

    def project_memory(self, memory: jax.Array) -> tuple[KeyValues, ...]:
        """Project [batch, source_length, d_model] for every layer."""
        return tuple(layer.project_memory(memory) for layer in self.layer)

    def step(
        self,
        x: jax.Array,
        memory: tuple[KeyValues, ...],
        memory_mask: jax.Array,
        past: tuple[KeyValues, ...],
        index: jax.Array,
    ) -> tuple[jax.Array, tuple[KeyValues, ...]]:
        """Apply all layers to one position; shapes as in `DecoderLayer.step`."""
        new_past = []
        for layer, of_memory, of_past in zip(self.layer, memory, past, strict=True):
            x, of_past = layer.step(x, of_memory, memory_mask, of_past, index)
            new_past.append(of_past)
        if self.config.norm_position == "pre":
            x = self.norm(x)
        return x, tuple(new_past)
