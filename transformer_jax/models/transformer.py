"""The full Transformer, and its cache for decoding (Section 3.1)."""

import dataclasses
from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from transformer_jax.models.attention_cache import Past
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.encoder_decoder import encode_and_decode
from transformer_jax.models.masks import Visibility, padding_mask
from transformer_jax.models.norms import make_norm
from transformer_jax.models.operations import transformer_flops
from transformer_jax.models.positions import POSITIONS
from transformer_jax.models.stacks import Decoder, Encoder
from transformer_jax.models.vocabulary import Vocabulary


@flax.struct.dataclass
class Cache:
    """What decoding remembers between two steps.

    Attributes:
      sentence: keys and values of the memory for each layer's cross-attention, and the
        segments, 0 on padding; every leaf [batch, source_length, ...].
      hypothesis: keys and values of the tokens so far for each layer's self-attention;
        a `Past` each.
      index: int32 scalar, the number of tokens already consumed.
      max_length: tokens that there is room for; a restricted self-attention keeps
        no more of them than it sees.
    """

    sentence: Any
    hypothesis: Any
    index: jax.Array
    max_length: int = flax.struct.field(pytree_node=False)


class Transformer(nn.Module):
    """The encoder-decoder model (Section 3, Figure 1).

    Segments number the sentences that share a row from 1 and are 0 on padding;
    positions count from 0 inside each sentence and stay below the row's length.
    `dropout` None means a deterministic pass.
    """

    config: TransformerConfig

    @property
    def layer_stacks(self) -> tuple[str, ...]:
        """The parts whose layers are equal; see `models.layer_scan`."""
        return ("encoder", "decoder")

    def setup(self) -> None:
        config = self.config

        self.vocabulary = Vocabulary(config, config.d_model)
        nn.share_scope(self, self.vocabulary)
        encoding = POSITIONS[config.positions].encoding
        self.source_positions = None if encoding is None else encoding(config)
        self.target_positions = None if encoding is None else encoding(config)
        self.source_norm = self.target_norm = None
        if config.norm_embeddings:
            norm = config.norm_kind, config.norm_epsilon, config.dtype
            self.source_norm, self.target_norm = make_norm(*norm), make_norm(*norm)
        self.source_dropout = Dropout(config.dropout_rate)
        self.target_dropout = Dropout(config.dropout_rate)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    __call__ = encode_and_decode

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
        x = self.vocabulary.source.lookup(source_tokens, source_segments != 0)
        length = source_tokens.shape[1]
        x = _add_encoding(x, self.source_positions, source_positions, length)
        x = _normalise(x, self.source_norm)
        x = self.source_dropout(x.astype(self.config.dtype), dropout)
        reach = self.config.reach
        visible = Visibility(source_segments, source_segments, reach=reach)
        positions = _counted(source_positions, length)
        return self.encoder(x, visible, dropout, positions=positions)

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
          logits: [batch, target_length, vocab_width] in `config.dtype`; the lowest
            finite number at padding rows of the vocabulary.
        """
        x = self.vocabulary.target.lookup(decoder_input_tokens, target_segments != 0)
        length = decoder_input_tokens.shape[1]
        x = _add_encoding(x, self.target_positions, target_positions, length)
        x = _normalise(x, self.target_norm)
        x = self.target_dropout(x.astype(self.config.dtype), dropout)
        reach = self.config.reach
        x = self.decoder(
            x,
            memory,
            Visibility(target_segments, target_segments, is_causal=True, reach=reach),
            Visibility(target_segments, source_segments),
            dropout,
            positions=_counted(target_positions, length),
        )
        return self.vocabulary.logits(x)

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
        shape = (memory.shape[0], num_hypotheses, config.num_heads)
        num_kept = self._num_kept(max_length)
        past = Past(
            jnp.zeros((*shape, num_kept, config.key_depth), config.dtype),
            jnp.zeros((*shape, num_kept, config.value_depth), config.dtype),
        )
        return Cache(
            sentence={
                "memory": self.decoder.project_memory(memory),
                "segments": source_segments,
            },
            hypothesis=(past,) * config.num_decoder_layers,
            index=jnp.zeros((), jnp.int32),
            max_length=max_length,
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
        x = self.vocabulary.target.lookup(tokens)
        position = cache.index.reshape(1, 1)
        x = _add_encoding(x, self.target_positions, position, cache.max_length)
        x = _normalise(x, self.target_norm)
        x = x.astype(self.config.dtype)
        x, past = self.decoder.step(
            x,
            cache.sentence["memory"],
            padding_mask(cache.sentence["segments"]),
            cache.hypothesis,
            cache.index,
        )
        cache = dataclasses.replace(cache, hypothesis=past, index=cache.index + 1)
        return self.vocabulary.precise_logits(x), cache

    @nn.nowrap
    def grow_cache(self, cache: Cache, max_length: int) -> Cache:
        """Make room for hypotheses of `max_length` tokens, in place of fewer."""
        num_kept = self._num_kept(max_length)
        hypothesis = tuple(past.grown(num_kept) for past in cache.hypothesis)
        return dataclasses.replace(cache, hypothesis=hypothesis, max_length=max_length)

    @nn.nowrap
    def _num_kept(self, max_length: int) -> int:
        """Return how many of so many tokens a later one can look at, itself counted."""
        reach = self.config.reach
        return max_length if reach is None else min(max_length, reach + 1)

    @nn.nowrap
    def forward_flops(self, source_length: float, target_length: float) -> float:
        """Count the matrix products of one sentence pair; see `models.operations`."""
        return transformer_flops(self.config, source_length, target_length)


def _counted(positions: jax.Array | None, length: int) -> jax.Array:
    """Return positions as they are, or 0, 1, ... for rows of `length`: [1, length]."""
    return jnp.arange(length)[None] if positions is None else positions


def _add_encoding(
    x: jax.Array, encoding: Any, positions: jax.Array | None, length: int
) -> jax.Array:
    """Add to embeddings [batch, any length, d_model] the encodings of their positions.

    Args:
      x: the embeddings.
      encoding: a module of models/positions.py, or None to add nothing.
      positions: [batch or 1, any length], each below `length`; None means 0, 1, ...
      length: number of positions that there can be.
    """
    return x if encoding is None else x + encoding(positions, length)


def _normalise(x: jax.Array, norm: Any) -> jax.Array:
    """Apply a norm to embeddings, where there is one."""
    return x if norm is None else norm(x)
