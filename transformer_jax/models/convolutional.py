"""Convolutional sequence to sequence learning (Gehring et al. 2017, arXiv 1705.03122).

Stacks of gated convolutions with learned positions; every decoder layer attends to the
encoder. Section numbers are those of that paper.
"""

import dataclasses

import flax.linen as nn
import jax

from transformer_jax.models.convolution import Cache
from transformer_jax.models.convolutional_config import ConvolutionalConfig
from transformer_jax.models.convolutional_stack import Memory, Stack, scale_gradient
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.encoder_decoder import encode_and_decode
from transformer_jax.models.masks import Visibility, padding_mask
from transformer_jax.models.positions import LearnedPositions
from transformer_jax.models.vocabulary import Vocabulary

# Of words and of positions at first (3.5).
_EMBEDDING_DEVIATION = 0.1


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

    __call__ = encode_and_decode

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
        convolutions = (layer.convolution for layer in self.decoder.layer)
        return Cache.start(memory, source_segments, num_hypotheses, convolutions)

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
