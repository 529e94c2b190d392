"""Encoder and decoder stacks and the full Transformer (Section 3.1)."""

from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from transformer_jax.models.attention import KeyValues, MultiHeadAttention
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.embeddings import TokenEmbedding, mask_padded_vocabulary
from transformer_jax.models.layers import FeedForward, LayerNorm, Residual
from transformer_jax.models.masks import decoder_mask, padding_mask, segment_mask
from transformer_jax.models.positions import LearnedPositions, SinusoidalPositions


@flax.struct.dataclass
class Cache:
    """What decoding remembers between two steps.

    Attributes:
      sentence: keys and values of the memory for each layer's cross-attention, and which
        of its positions are real; every leaf [batch, source_length, ...].
      hypothesis: keys and values of the tokens so far for each layer's self-attention;
        every leaf [batch, num_hypotheses, max_length, num_heads, depth].
      index: int32 scalar, the number of tokens already consumed.
    """

    sentence: Any
    hypothesis: Any
    index: jax.Array


def grow_cache(cache: Cache, max_length: int) -> Cache:
    """Make room for hypotheses of `max_length` tokens, in place of fewer."""

    def pad(array: jax.Array) -> jax.Array:
        widths = [(0, 0)] * array.ndim
        widths[2] = (0, max_length - array.shape[2])
        return jnp.pad(array, widths)

    return cache.replace(hypothesis=jax.tree.map(pad, cache.hypothesis))


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
          memory: keys and values [batch, source_length, num_heads, depth]. Hypotheses of
            a sentence are queries to it side by side, so it is never copied for them.
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

    def step(self, x: jax.Array, cache: Cache) -> tuple[jax.Array, Cache]:
        """Apply all layers to one position [batch, num_hypotheses, d_model]."""
        pasts = []
        memory_mask = padding_mask(cache.sentence["segments"])
        for layer, memory, past in zip(
            self.layer, cache.sentence["memory"], cache.hypothesis, strict=True
        ):
            x, past = layer.step(x, memory, memory_mask, past, cache.index)
            pasts.append(past)
        if self.config.norm_position == "pre":
            x = self.norm(x)
        return x, cache.replace(hypothesis=tuple(pasts), index=cache.index + 1)


class Transformer(nn.Module):
    """The encoder-decoder model (Section 3, Figure 1).

    Segments number the sentences that share a row from 1 and are 0 on padding; positions
    count from 0 inside each sentence and stay below the row's length. `dropout` None
    means a deterministic pass.
    """

    config: TransformerConfig

    def setup(self) -> None:
        config = self.config

        def table(num_rows: int) -> TokenEmbedding:
            return TokenEmbedding(num_rows, config.d_model, config.dtype)

        def positions() -> nn.Module:
            if config.positions == "learned":
                return LearnedPositions(config.d_model, config.max_positions)
            return SinusoidalPositions(config.d_model, config.sinusoid_layout)

        if config.tied_embeddings == "all":
            self.token_embedding = table(config.target_vocab_width)
        else:
            self.source_embedding = table(config.source_vocab_width)
            self.target_embedding = table(config.target_vocab_width)
        if config.tied_embeddings == "none":
            self.output_embedding = table(config.target_vocab_width)
        if config.use_logits_bias:
            init = nn.with_logical_partitioning(nn.initializers.zeros, ("vocab",))
            shape = (config.target_vocab_width,)
            self.logits_bias = self.param("logits_bias", init, shape, jnp.float32)
        self.source_positions = positions()
        self.target_positions = positions()
        self.source_dropout = Dropout(config.dropout_rate)
        self.target_dropout = Dropout(config.dropout_rate)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

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
        """Encode and decode; shapes as in `encode` and `decode`."""
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
    ) -> jax.Array:
        """Turn source tokens into the memory that the decoder looks at (3.1).

        Args:
          source_tokens: [batch, source_length] int32.
          source_segments: [batch, source_length].
          source_positions: [batch, source_length]; None means 0, 1, ... in each row.
          dropout: randomness with `rows` [batch].

        Returns:
          memory: [batch, source_length, d_model].
        """
        tied = self.config.tied_embeddings == "all"
        table = self.token_embedding if tied else self.source_embedding
        x = table.lookup(source_tokens, source_segments != 0)
        x = x + self.source_positions(source_positions, source_tokens.shape[1])
        x = self.source_dropout(x.astype(self.config.dtype), dropout)
        return self.encoder(x, segment_mask(source_segments, source_segments), dropout)

    def decode(
        self,
        decoder_input_tokens: jax.Array,
        memory: jax.Array,
        *,
        source_segments: jax.Array,
        target_segments: jax.Array,
        target_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Score the next piece after each target position (3.1).

        Args:
          decoder_input_tokens: [batch, target_length] int32, the target shifted right.
          memory: [batch, source_length, d_model], from `encode`.
          source_segments: [batch, source_length].
          target_segments: [batch, target_length].
          target_positions: [batch, target_length]; None means 0, 1, ... in each row.
          dropout: randomness with `rows` [batch].

        Returns:
          logits: float32 [batch, target_length, vocab_width]; the lowest finite number
            at padding rows of the vocabulary.
        """
        x = self._target_table.lookup(decoder_input_tokens, target_segments != 0)
        x = x + self.target_positions(target_positions, decoder_input_tokens.shape[1])
        x = self.target_dropout(x.astype(self.config.dtype), dropout)
        self_mask = decoder_mask(target_segments)
        cross_mask = segment_mask(target_segments, source_segments)
        return self._logits(self.decoder(x, memory, self_mask, cross_mask, dropout))

    def init_cache(
        self,
        memory: jax.Array,
        *,
        source_segments: jax.Array,
        num_hypotheses: int,
        max_length: int,
    ) -> Cache:
        """Prepare step-by-step decoding of one sentence in each row.

        Args:
          memory: [batch, source_length, d_model], from `encode`.
          source_segments: [batch, source_length].
          num_hypotheses: kept for each sentence.
          max_length: tokens that there is room for; `grow_cache` makes more.

        Returns:
          An empty cache; its shapes are in `Cache`.
        """
        config = self.config
        shape = (memory.shape[0], num_hypotheses, max_length, config.num_heads)
        past = KeyValues(
            jnp.zeros((*shape, config.key_depth), config.dtype),
            jnp.zeros((*shape, config.value_depth), config.dtype),
        )
        return Cache(
            sentence={
                "memory": self.decoder.project_memory(memory),
                "segments": source_segments,
            },
            hypothesis=(past,) * config.num_decoder_layers,
            index=jnp.zeros((), jnp.int32),
        )

    def decode_step(self, tokens: jax.Array, cache: Cache) -> tuple[jax.Array, Cache]:
        """Do `decode` for the one position `cache.index` of every hypothesis.

        Args:
          tokens: [batch, num_hypotheses] int32, the decoder's input there.
          cache: what came before; it needs room for one more token.

        Returns:
          logits: float32 [batch, num_hypotheses, vocab_width].
          cache: with this token consumed.
        """
        max_length = cache.hypothesis[0].key.shape[2]
        position = self.target_positions(cache.index.reshape(1, 1), max_length)
        x = (self._target_table.lookup(tokens) + position).astype(self.config.dtype)
        x, cache = self.decoder.step(x, cache)
        return self._logits(x), cache

    @property
    def _target_table(self) -> TokenEmbedding:
        tied = self.config.tied_embeddings == "all"
        return self.token_embedding if tied else self.target_embedding

    def _logits(self, x: jax.Array) -> jax.Array:
        """Map [batch, length, d_model] to float32 [batch, length, vocab_width] (3.4)."""
        tied = self.config.tied_embeddings != "none"
        logits = (self._target_table if tied else self.output_embedding).logits(x)
        if self.config.use_logits_bias:
            logits = logits + self.logits_bias[None, None]
        return mask_padded_vocabulary(logits, self.config.target_vocab_size)


def _boxed_params(model: Transformer, rng: jax.Array) -> Any:
    """Return new parameters with their logical axis names still around them."""
    tokens = jnp.zeros((1, 1), jnp.int32)
    segments = jnp.ones((1, 1), jnp.int32)
    variables = model.init(
        rng, tokens, tokens, source_segments=segments, target_segments=segments
    )
    return variables["params"]


def init_params(model: Transformer, rng: jax.Array) -> Any:
    """Return new float32 parameters: a tree of plain arrays, named by module path."""
    return jax.jit(lambda rng: nn.unbox(_boxed_params(model, rng)))(rng)


def param_axes(model: Transformer) -> Any:
    """Return the logical names of every parameter's axes, in the tree of `init_params`.

    A leaf is a PartitionSpec of names such as ("vocab", "d_model").
    """
    boxed = jax.eval_shape(lambda: _boxed_params(model, jax.random.key(0)))
    return nn.get_partition_spec(boxed)
