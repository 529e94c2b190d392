"""A translation model that is no Transformer, and as small as one can be.

The encoder averages its words; the decoder is a recurrent state that starts from that
average. Order of the source means nothing to it, and its state has no length to grow.
"""

import dataclasses

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from transformer_jax.fields import check_declared, fixed
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.embeddings import TokenEmbedding
from transformer_jax.models.layers import Linear


@dataclasses.dataclass(frozen=True)
class BagOfWordsConfig:
    """Its two sizes."""

    source_vocab_size: int
    target_vocab_size: int
    width: int = fixed(32, "of words and state", least=1)
    dropout_rate: float = fixed(0.1, "on the words", least=0, below=1)

    def __post_init__(self) -> None:
        check_declared(self)

    @property
    def d_model(self) -> int:
        """What the paper's learning rate goes by."""
        return self.width

    @property
    def longest_length(self) -> None:
        """A state goes on for ever."""
        return None


@flax.struct.dataclass
class Cache:
    """Attributes: see `models.interface.Cache`."""

    sentence: jax.Array  # [batch, d_model]
    hypothesis: jax.Array  # [batch, num_hypotheses, d_model]


class BagOfWords(nn.Module):
    """The whole model."""

    config: BagOfWordsConfig

    @property
    def layer_stacks(self) -> tuple[str, ...]:
        """None: there is one layer."""
        return ()

    def setup(self) -> None:
        d_model = self.config.d_model
        self.source_embedding = TokenEmbedding(self.config.source_vocab_size, d_model)
        self.target_embedding = TokenEmbedding(self.config.target_vocab_size, d_model)
        self.dropout = Dropout(self.config.dropout_rate)
        self.from_word = Linear(
            (d_model,), (d_model,), ("d_model",), ("next_state",), True
        )
        self.from_state = Linear((d_model,), (d_model,), ("state",), ("next_state",))
        self.from_memory = Linear((d_model,), (d_model,), ("d_model",), ("next_state",))

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
            source_tokens, source_segments=source_segments, dropout=dropout
        )
        return self.decode(
            decoder_input_tokens,
            memory,
            source_segments=source_segments,
            target_segments=target_segments,
        )

    def encode(
        self,
        source_tokens: jax.Array,
        *,
        source_segments: jax.Array,
        source_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Return the mean word [batch, source_length, d_model] of each segment."""
        words = self.source_embedding.lookup(source_tokens, source_segments != 0)
        words = self.dropout(words, dropout)
        return self._mean_of(source_segments, words, source_segments)

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
        words = self.target_embedding.lookup(decoder_input_tokens, target_segments != 0)
        means = self._mean_of(target_segments, memory, source_segments)
        is_first = jnp.diff(target_segments, axis=1, prepend=0) != 0
        state = jnp.zeros((words.shape[0], self.config.d_model))
        states = []
        for position in range(words.shape[1]):
            state = jnp.where(is_first[:, position, None], 0.0, state)
            state = self._next(words[:, position], state, means[:, position])
            states.append(state)
        return self.target_embedding.logits(jnp.stack(states, axis=1))

    def init_cache(
        self,
        memory: jax.Array,
        *,
        source_segments: jax.Array,
        num_hypotheses: int,
        max_length: int,
    ) -> Cache:
        shape = (memory.shape[0], num_hypotheses, self.config.d_model)
        return Cache(sentence=memory[:, 0], hypothesis=jnp.zeros(shape))

    def decode_step(self, tokens: jax.Array, cache: Cache) -> tuple[jax.Array, Cache]:
        words = self.target_embedding.lookup(tokens)
        mean = jnp.broadcast_to(cache.sentence[:, None], words.shape)
        state = self._next(words, cache.hypothesis, mean)
        logits = self.target_embedding.logits(state)
        return logits, dataclasses.replace(cache, hypothesis=state)

    @nn.nowrap
    def grow_cache(self, cache: Cache, max_length: int) -> Cache:
        """Return it as it is: a state has no length."""
        return cache

    @nn.nowrap
    def forward_flops(self, source_length: float, target_length: float) -> float:
        d_model = self.config.d_model
        means = 2 * (source_length + target_length) * source_length * d_model
        state = 3 * 2 * d_model**2 + 2 * d_model * self.config.target_vocab_size
        return means + target_length * state

    def _next(self, word: jax.Array, state: jax.Array, mean: jax.Array) -> jax.Array:
        parts = self.from_word(word), self.from_state(state), self.from_memory(mean)
        return jnp.tanh(sum(parts))

    def _mean_of(
        self, segments: jax.Array, vectors: jax.Array, vector_segments: jax.Array
    ) -> jax.Array:
        """Return for each position the mean of the vectors of its own segment."""
        is_same = segments[:, :, None] == vector_segments[:, None, :]
        is_real = is_same & (vector_segments != 0)[:, None, :]
        count = jnp.maximum(is_real.sum(axis=-1, keepdims=True), 1)
        return jnp.einsum("bqk,bkm->bqm", is_real / count, vectors)
