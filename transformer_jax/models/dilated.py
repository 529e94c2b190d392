"""Translation in linear time: ByteNet (Kalchbrenner et al. 2016, arXiv 1610.10099).

Dilated convolutions reach n positions in log_k(n) layers. There is no attention: the
decoder stands on the encoder, position by position. Section numbers are that paper's.
"""

import dataclasses

import flax.linen as nn
import jax
import jax.numpy as jnp

from transformer_jax.errors import UserError
from transformer_jax.fields import check_declared, fixed
from transformer_jax.models.convolution import Cache, Convolution, check_kernel_width
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.encoder_decoder import encode_and_decode
from transformer_jax.models.norms import LayerNorm
from transformer_jax.models.segments import first_index, take
from transformer_jax.models.vocabulary import (
    Vocabulary,
    VocabularyConfig,
    check_vocabulary,
)


@dataclasses.dataclass(frozen=True)
class DilatedConfig(VocabularyConfig):
    """Sizes of a ByteNet; the defaults are those of its translations (5)."""

    num_encoder_layers: int = fixed(30, "residual blocks of the encoder", least=1)
    num_decoder_layers: int = fixed(30, "residual blocks of the decoder", least=1)
    d_model: int = fixed(
        1600, "width between blocks, 2d, even; a block's inside is half of it", least=2
    )
    kernel_width: int = fixed(3, "positions of a window, k; odd", least=1)
    num_dilations: int = fixed(
        5, "blocks whose dilations are 1, 2, 4, ... before they begin anew", least=1
    )
    dropout_rate: float = fixed(
        0.1, "on embeddings and the output of every block", least=0, below=1
    )

    def __post_init__(self) -> None:
        check_declared(self)
        check_vocabulary(self)
        check_kernel_width(self.kernel_width)
        if self.d_model % 2:
            raise UserError(
                f"d_model={self.d_model} is odd, but the inside of a block is half as "
                "wide. Use an even number."
            )

    @property
    def longest_length(self) -> None:
        """None: there are no positions to run out of."""
        return None


class Block(nn.Module):
    """Norm, ReLU and a convolution three times, beside a residual connection (3.6).

    The first halves the width, the second is dilated, the third restores the width.

    Attributes:
      config: sizes of the model.
      dilation: of the second.
      is_causal: as the decoder's is.
    """

    config: DilatedConfig
    dilation: int
    is_causal: bool

    def setup(self) -> None:
        config = self.config
        inner = config.d_model // 2

        def convolution(in_channels: int, out_channels: int, width: int) -> Convolution:
            return Convolution(
                in_channels,
                out_channels,
                width,
                self.dilation,
                self.is_causal,
                # A ReLU leaves half of the mean square.
                initial_variance=2.0,
                dtype=config.dtype,
            )

        self.narrow_norm = _norm(config)
        self.narrow = convolution(config.d_model, inner, 1)
        self.norm = _norm(config)
        self.convolution = convolution(inner, inner, config.kernel_width)
        self.widen_norm = _norm(config)
        self.widen = convolution(inner, config.d_model, 1)
        self.dropout = Dropout(config.dropout_rate)

    def __call__(
        self, x: jax.Array, segments: jax.Array, dropout: DropoutBits | None
    ) -> jax.Array:
        """Transform [batch, length, d_model]."""
        y = self.convolution(self._enter(x), segments)
        return self._leave(x, y, dropout)

    def step(self, x: jax.Array, past: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Transform one position of every hypothesis; see `Convolution.step`."""
        y, past = self.convolution.step(self._enter(x), past)
        return self._leave(x, y, None), past

    def _enter(self, x: jax.Array) -> jax.Array:
        y = self.narrow(jax.nn.relu(self.narrow_norm(x)))
        return jax.nn.relu(self.norm(y))

    def _leave(
        self, x: jax.Array, y: jax.Array, dropout: DropoutBits | None
    ) -> jax.Array:
        return x + self.dropout(self.widen(jax.nn.relu(self.widen_norm(y))), dropout)


def _norm(config: DilatedConfig) -> LayerNorm:
    return LayerNorm(1e-6, config.dtype)


class Stack(nn.Module):
    """Blocks whose dilations double, again and again; a norm ends them (3.4).

    Attributes:
      config: sizes of the model.
      num_layers: how many blocks.
      is_causal: as the decoder's are.
    """

    config: DilatedConfig
    num_layers: int
    is_causal: bool

    def setup(self) -> None:
        config = self.config
        self.layer = [
            Block(config, 2 ** (number % config.num_dilations), self.is_causal)
            for number in range(self.num_layers)
        ]
        self.norm = _norm(config)

    def __call__(
        self, x: jax.Array, segments: jax.Array, dropout: DropoutBits | None
    ) -> jax.Array:
        """Transform [batch, length, d_model]."""
        for layer in self.layer:
            x = layer(x, segments, dropout)
        return self.norm(x)

    def step(
        self, x: jax.Array, past: tuple[jax.Array, ...]
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        """Transform one position of every hypothesis: [batch, num_hypotheses, ...]."""
        new_past = []
        for layer, of_layer in zip(self.layer, past, strict=True):
            x, of_layer = layer.step(x, of_layer)
            new_past.append(of_layer)
        return self.norm(x), tuple(new_past)


class Dilated(nn.Module):
    """The whole model (3)."""

    config: DilatedConfig

    @property
    def layer_stacks(self) -> tuple[str, ...]:
        """None: dilations differ from layer to layer."""
        return ()

    def setup(self) -> None:
        config = self.config
        self.vocabulary = Vocabulary(config, config.d_model)
        nn.share_scope(self, self.vocabulary)
        self.source_dropout = Dropout(config.dropout_rate)
        self.target_dropout = Dropout(config.dropout_rate)
        self.encoder = Stack(config, config.num_encoder_layers, is_causal=False)
        self.decoder = Stack(config, config.num_decoder_layers, is_causal=True)

    __call__ = encode_and_decode

    def encode(
        self,
        source_tokens: jax.Array,
        *,
        source_segments: jax.Array,
        source_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Return a vector for each position of the source; see the contract."""
        words = self.vocabulary.source.lookup(source_tokens, source_segments != 0)
        x = self.source_dropout(words.astype(self.config.dtype), dropout)
        return self.encoder(x, source_segments, dropout)

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
        words = self.vocabulary.target.lookup(
            decoder_input_tokens, target_segments != 0
        )
        start = first_index(target_segments, source_segments)
        position = jnp.arange(words.shape[1])[None] - first_index(
            target_segments, target_segments
        )
        below = _stand_on(memory, source_segments, start + position, target_segments)
        x = self.target_dropout(words.astype(self.config.dtype), dropout) + below
        return self.vocabulary.logits(self.decoder(x, target_segments, dropout))

    def init_cache(
        self,
        memory: jax.Array,
        *,
        source_segments: jax.Array,
        num_hypotheses: int,
        max_length: int,
    ) -> Cache:
        convolutions = (layer.convolution for layer in self.decoder.layer)
        return Cache.start(memory, source_segments, num_hypotheses, convolutions)

    def decode_step(self, tokens: jax.Array, cache: Cache) -> tuple[jax.Array, Cache]:
        words = self.vocabulary.target.lookup(tokens)
        memory, segments = cache.sentence["memory"], cache.sentence["segments"]
        first = segments[:, :1]
        below = _stand_on(memory, segments, jnp.full_like(first, cache.index), first)
        x, past = self.decoder.step(
            words.astype(self.config.dtype) + below, cache.hypothesis
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
        inner = config.d_model // 2
        block = 2 * config.d_model * inner + config.kernel_width * inner**2
        encoder = config.num_encoder_layers * block
        logits = config.d_model * config.target_vocab_width
        decoder = config.num_decoder_layers * block + logits
        return 2 * (source_length * encoder + target_length * decoder)


def _stand_on(
    memory: jax.Array, segments: jax.Array, index: jax.Array, of: jax.Array
) -> jax.Array:
    """Return what the encoder has at some positions, for the decoder there (3.2).

    A target that is longer than its source stands on zeros.

    Args:
      memory: [batch, source_length, d_model].
      segments: [batch, source_length].
      index: [batch, length] in the rows of `memory`, maybe past their end.
      of: [batch, length], the sentence that is meant.

    Returns:
      [batch, length, d_model]; zero where another sentence stands, or none.
    """
    last = segments.shape[1] - 1
    place = jnp.minimum(index, last)
    is_there = (index <= last) & (take(segments, place) == of)
    return jnp.where(is_there[..., None], take(memory, place), 0)
