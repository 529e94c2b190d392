"""Gated convolutions and attention between them (Gehring et al. 2017, Section 3).

Section numbers are those of that paper.
"""

import functools
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from transformer_jax.models.convolution import Convolution
from transformer_jax.models.convolutional_config import ConvolutionalConfig
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.layer_scan import apply_layers
from transformer_jax.models.softmax import masked_softmax


@flax.struct.dataclass
class Memory:
    """What the decoder attends to (3.3).

    Attributes:
      key: z, the encoder's output [batch, source_length, d_model].
      value: z + e, with the embeddings added: [batch, source_length, d_model].
    """

    key: jax.Array
    value: jax.Array


# (a layer's attention, its states [batch, length, num_channels]) → what it saw, of the
# same shape.
Attend = Callable[["CrossAttention", jax.Array], jax.Array]


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def scale_gradient(x: jax.Array, factor: float) -> jax.Array:
    """Return `x`; gradients that come back through here are scaled (3.4)."""
    return x


@scale_gradient.defjvp
def _scale_gradient_jvp(factor: float, primals: Any, tangents: Any) -> Any:
    return primals[0], tangents[0] * factor


def halved_sum(x: jax.Array, y: jax.Array) -> jax.Array:
    """Add two arrays of one variance so that the sum has it too (3.4)."""
    return (x + y) * 0.5**0.5


def _linear(
    config: ConvolutionalConfig, in_channels: int, out_channels: int, kept: float = 1.0
) -> Convolution:
    """Return a map of each position; a share `kept` of its input is not dropped (3.5).

    All maps are weight-normalised, lookup tables are not (4.2).
    """
    return Convolution(
        in_channels,
        out_channels,
        initial_variance=kept,
        has_weight_norm=True,
        dtype=config.dtype,
    )


class CrossAttention(nn.Module):
    """Attention of one decoder layer to the encoder, one head (3.3)."""

    config: ConvolutionalConfig

    def setup(self) -> None:
        config = self.config
        self.query = _linear(config, config.num_channels, config.d_model)
        self.output = _linear(config, config.d_model, config.num_channels)

    def __call__(
        self, x: jax.Array, embedded: jax.Array, memory: Memory, mask: jax.Array
    ) -> jax.Array:
        """Let each position look at the source.

        The weights are sown into `intermediates` as `attention_weights` [batch, 1,
        query_length, source_length], one head.

        Args:
          x: [batch, query_length, num_channels], the decoder's state.
          embedded: [batch, query_length, d_model], the decoder's input there.
          memory: of each row.
          mask: boolean [batch, query_length or 1, source_length].

        Returns:
          [batch, query_length, num_channels].
        """
        query = self.query(x) + embedded
        scores = jnp.einsum("bqm,bkm->bqk", query, memory.key).astype(jnp.float32)
        weights = masked_softmax(scores, mask).astype(query.dtype)
        self.sow("intermediates", "attention_weights", weights[:, None])
        context = jnp.einsum("bqk,bkm->bqm", weights, memory.value)
        # A mean of m vectors has an m-th of their variance (3.4).
        num_keys = mask.sum(axis=-1, keepdims=True)
        return self.output(context * jnp.sqrt(num_keys).astype(context.dtype))


class Block(nn.Module):
    """A convolution, a gated linear unit and, in the decoder, attention (3.2, 3.3).

    One residual connection leads around all of it.

    Attributes:
      config: sizes of the model.
      is_decoder: whether it is causal and attends.
    """

    config: ConvolutionalConfig
    is_decoder: bool

    def setup(self) -> None:
        config = self.config
        self.dropout = Dropout(config.dropout_rate)
        self.convolution = Convolution(
            config.num_channels,
            2 * config.num_channels,
            config.kernel_width,
            is_causal=self.is_decoder,
            # The gate takes three quarters of the variance away (3.5).
            initial_variance=4 * (1 - config.dropout_rate),
            has_weight_norm=True,
            dtype=config.dtype,
        )
        if self.is_decoder:
            self.cross_attention = CrossAttention(config)

    def __call__(
        self,
        x: jax.Array,
        segments: jax.Array,
        dropout: DropoutBits | None,
        attend: Attend | None = None,
    ) -> jax.Array:
        """Transform whole rows.

        Args:
          x: [batch, length, num_channels].
          segments: [batch, length].
          dropout: randomness, or None for none.
          attend: calls the decoder's attention; None in the encoder.

        Returns:
          [batch, length, num_channels].
        """
        return self._gate(
            x, self.convolution(self.dropout(x, dropout), segments), attend
        )

    def step(
        self, x: jax.Array, past: jax.Array, attend: Attend
    ) -> tuple[jax.Array, jax.Array]:
        """Transform one position of every hypothesis; see `Convolution.step`."""
        y, past = self.convolution.step(x, past)
        return self._gate(x, y, attend), past

    def _gate(
        self, x: jax.Array, convolved: jax.Array, attend: Attend | None
    ) -> jax.Array:
        y = jax.nn.glu(convolved)
        if attend is not None:
            y = halved_sum(y, attend(self.cross_attention, y))
        return halved_sum(x, y)


class Stack(nn.Module):
    """Blocks between two maps, from and to the width of embeddings (3.2).

    Attributes:
      config: sizes of the model.
      is_decoder: see `Block`.
    """

    config: ConvolutionalConfig
    is_decoder: bool

    def setup(self) -> None:
        config = self.config
        widths = config.d_model, config.num_channels
        self.from_embeddings = _linear(config, *widths, kept=1 - config.dropout_rate)
        num_layers = (
            config.num_decoder_layers if self.is_decoder else config.num_encoder_layers
        )
        self.layer = [Block(config, self.is_decoder) for _ in range(num_layers)]
        self.to_embeddings = _linear(config, *widths[::-1])

    def __call__(
        self,
        embedded: jax.Array,
        segments: jax.Array,
        dropout: DropoutBits | None,
        attend: Attend | None = None,
    ) -> jax.Array:
        """Map [batch, length, d_model] to the same shape; see `Block`."""
        x = apply_layers(
            self,
            lambda layer, x, dropout: layer(x, segments, dropout, attend),
            self.from_embeddings(embedded),
            dropout,
        )
        return self.to_embeddings(x)

    def step(
        self, embedded: jax.Array, past: tuple[jax.Array, ...], attend: Attend
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        """Map one position of every hypothesis: [batch, num_hypotheses, d_model]."""
        x, new_past = self.from_embeddings(embedded), []
        for layer, of_layer in zip(self.layer, past, strict=True):
            x, of_layer = layer.step(x, of_layer, attend)
            new_past.append(of_layer)
        return self.to_embeddings(x), tuple(new_past)
