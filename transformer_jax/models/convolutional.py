"""Convolutional sequence to sequence learning (Gehring et al. 2017, arXiv 1705.03122).

Stacks of gated convolutions with learned positions; every decoder layer attends to the
encoder. Section numbers are those of that paper.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from transformer_jax.fields import check_declared, fixed
from transformer_jax.models.convolution import Cache, Convolution, check_kernel_width
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.layer_scan import apply_layers
from transformer_jax.models.masks import Visibility, padding_mask
from transformer_jax.models.positions import LearnedPositions
from transformer_jax.models.softmax import masked_softmax
from transformer_jax.models.vocabulary import (
    Vocabulary,
    VocabularyConfig,
    check_vocabulary,
)

# Of words and of positions at first (3.5).
_EMBEDDING_DEVIATION = 0.1


@dataclasses.dataclass(frozen=True)
class ConvolutionalConfig(VocabularyConfig):
    """Sizes of a ConvS2S; the defaults are those for WMT16 English-Romanian (4.2)."""

    num_encoder_layers: int = fixed(20, "blocks of the encoder", least=1)
    num_decoder_layers: int = fixed(20, "blocks of the decoder", least=1)
    d_model: int = fixed(
        512, "width of embeddings, of the encoder's output and in attention", least=1
    )
    num_channels: int = fixed(512, "width of what a block gives", least=1)
    kernel_width: int = fixed(3, "positions of a convolution's window; odd", least=1)
    dropout_rate: float = fixed(
        0.2,
        "on embeddings, the input of every convolution and the decoder's output",
        least=0,
        below=1,
    )
    max_positions: int = fixed(
        1024,
        "rows of a learned position table: the longest source or target, in pieces",
        least=1,
    )

    def __post_init__(self) -> None:
        check_declared(self)
        check_vocabulary(self)
        check_kernel_width(self.kernel_width)

    @property
    def longest_length(self) -> int:
        """Pieces of the longest source or target."""
        return self.max_positions


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


class Convolutional(nn.Module):
    """The whole model (3)."""

    config: ConvolutionalConfig

    @property
    def layer_stacks(self) -> tuple[str, ...]:
        """The parts whose layers are equal; see `models.layer_scan`."""
        return ("encoder", "decoder")

    def setup(self) -> None:
        config = self.config
        self.vocabulary = Vocabulary(config, config.d_model)
        nn.share_scope(self, self.vocabulary)
        self.source_positions = LearnedPositions(config.d_model, config.max_positions)
        self.target_positions = LearnedPositions(config.d_model, config.max_positions)
        self.source_dropout = Dropout(config.dropout_rate)
        self.target_dropout = Dropout(config.dropout_rate)
        self.encoder = Stack(config, is_decoder=False)
        self.decoder = Stack(config, is_decoder=True)
        self.output_dropout = Dropout(config.dropout_rate)

    def __call__(
        self,
        source_tokens: jax.Array,
        decoder_input_tokens: jax.Array,
        *,
        source_segments: jax.Array,
        target_segments: jax.Array,
        source_positions: jax.Array | None = None,
        target_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        memory = self.encode(
            source_tokens,
            source_segments=source_segments,
            source_positions=source_positions,
            dropout=dropout,
        )
        return self.decode(
            decoder_input_tokens,
            memory,
            source_segments=source_segments,
            target_segments=target_segments,
            target_positions=target_positions,
            dropout=dropout,
        )

    def encode(
        self,
        source_tokens: jax.Array,
        *,
        source_segments: jax.Array,
        source_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> Memory:
        words = self.vocabulary.source.lookup(source_tokens, source_segments != 0)
        places = self.source_positions(source_positions, source_tokens.shape[1])
        embedded = self.source_dropout(self._embed(words, places), dropout)
        key = self.encoder(embedded, source_segments, dropout)
        # Each decoder layer's attention uses it twice, to score and to average. What
        # reaches the embeddings past the encoder stays whole (3.4).
        key = scale_gradient(key, 0.5 / self.config.num_decoder_layers)
        return Memory(key, key + embedded)

    def decode(
        self,
        decoder_input_tokens: jax.Array,
        memory: Memory,
        *,
        source_segments: jax.Array,
        target_segments: jax.Array,
        target_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        words = self.vocabulary.target.lookup(
            decoder_input_tokens, target_segments != 0
        )
        places = self.target_positions(target_positions, words.shape[1])
        embedded = self.target_dropout(self._embed(words, places), dropout)
        mask = Visibility(target_segments, source_segments).mask()[:, 0]
        x = self.decoder(
            embedded,
            target_segments,
            dropout,
            lambda attention, x: attention(x, embedded, memory, mask),
        )
        return self.vocabulary.logits(self.output_dropout(x, dropout))

    def init_cache(
        self,
        memory: Memory,
        *,
        source_segments: jax.Array,
        num_hypotheses: int,
        max_length: int,
    ) -> Cache:
        shape = source_segments.shape[0], num_hypotheses
        return Cache(
            sentence={"memory": memory, "segments": source_segments},
            hypothesis=tuple(
                layer.convolution.empty_past(*shape) for layer in self.decoder.layer
            ),
            index=jnp.zeros((), jnp.int32),
        )

    def decode_step(self, tokens: jax.Array, cache: Cache) -> tuple[jax.Array, Cache]:
        words = self.vocabulary.target.lookup(tokens)
        position = cache.index.reshape(1, 1)
        places = self.target_positions(position, self.config.max_positions)
        embedded = self._embed(words, places)
        memory = cache.sentence["memory"]
        mask = padding_mask(cache.sentence["segments"])[:, 0]
        x, past = self.decoder.step(
            embedded,
            cache.hypothesis,
            lambda attention, x: attention(x, embedded, memory, mask),
        )
        cache = dataclasses.replace(cache, hypothesis=past, index=cache.index + 1)
        return self.vocabulary.precise_logits(x), cache

    @nn.nowrap
    def grow_cache(self, cache: Cache, max_length: int) -> Cache:
        """Return it as it is: a window has one length."""
        return cache

    @nn.nowrap
    def forward_flops(self, source_length: float, target_length: float) -> float:
        config = self.config
        widths = config.d_model * config.num_channels
        block = config.kernel_width * config.num_channels * 2 * config.num_channels
        encoder = 2 * widths + config.num_encoder_layers * block
        attention = 2 * widths + 2 * source_length * config.d_model
        decoder = 2 * widths + config.num_decoder_layers * (block + attention)
        logits = config.d_model * config.target_vocab_width
        return 2 * (source_length * encoder + target_length * (decoder + logits))

    def _embed(self, words: jax.Array, places: jax.Array) -> jax.Array:
        """Add words and places so that both start with the deviation of (3.5).

        Words come from a table that also makes the logits, times sqrt(d_model) to have
        deviation 1; rows of places have the table's.
        """
        x = words + places * self.config.d_model**0.5
        return (x * _EMBEDDING_DEVIATION).astype(self.config.dtype)
