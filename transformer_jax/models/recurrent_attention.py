"""A recurrent encoder-decoder whose decoder looks at the whole source.

Bahdanau et al. 2015 (arXiv 1409.0473), with its additive score; as an option the
multiplicative one of Luong et al. 2015 (arXiv 1508.04025, "general").
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from transformer_jax.fields import check_declared, fixed
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.layers import Linear, flat_product
from transformer_jax.models.recurrence import (
    CELLS,
    CellName,
    RecurrentDropout,
    RecurrentLayer,
    scan_sentences,
)
from transformer_jax.models.recurrent_cross_attention import (
    RecurrentCrossAttention,
    Score,
)
from transformer_jax.models.segments import first_index, take
from transformer_jax.models.vocabulary import (
    Vocabulary,
    VocabularyConfig,
    check_vocabulary,
)


@dataclasses.dataclass(frozen=True)
class RecurrentAttentionConfig(VocabularyConfig):
    """Sizes of a recurrent model with attention; the defaults are Bahdanau et al.'s."""

    cell: CellName = fixed("gru", "gru (Bahdanau et al.) or lstm")
    num_encoder_layers: int = fixed(
        1, "layers of the encoder, each in both directions", least=1
    )
    num_decoder_layers: int = fixed(
        1, "layers of the decoder, the first of which attends", least=1
    )
    d_model: int = fixed(620, "width of the token vectors", least=1)
    d_state: int = fixed(1000, "d_h, width of each state, of each direction", least=1)
    attention_score: Score = fixed(
        "additive",
        "additive is v^T tanh(W s + U h) (Bahdanau et al.); multiplicative is s^T W h "
        "(Luong et al.)",
    )
    d_attention: int = fixed(
        1000, "width of the hidden layer of the additive score", least=1
    )
    dropout_rate: float = fixed(
        0.2,
        "on what each layer reads, on what is looked at and on the output",
        least=0,
        below=1,
    )
    dropout_kind: RecurrentDropout = fixed(
        "zaremba",
        "zaremba never drops what goes from a state to the next (Zaremba et al. 2014); "
        "variational drops the same features at every position, of states too",
    )

    def __post_init__(self) -> None:
        check_declared(self)
        check_vocabulary(self)

    @property
    def d_memory(self) -> int:
        """Width of what the decoder looks at: states of both directions."""
        return 2 * self.d_state

    @property
    def longest_length(self) -> None:
        """A state goes on for ever."""
        return None


@flax.struct.dataclass
class RecurrentAttentionCache:
    """What decoding remembers between two steps.

    Attributes:
      sentence: the memory, its keys and its segments: [batch, source_length, ...].
      hypothesis: float32 [batch, num_hypotheses, num_layers, num_parts, d_state].
    """

    sentence: dict[str, jax.Array]
    hypothesis: jax.Array


def _layer(config: RecurrentAttentionConfig, d_in: int) -> RecurrentLayer:
    return RecurrentLayer(
        config.cell,
        d_in,
        config.d_state,
        config.dropout_rate,
        config.dropout_kind,
        config.dtype,
    )


class AttentiveLayer(nn.Module):
    """A recurrent layer that reads, beside each word, what its last state looked at."""

    config: RecurrentAttentionConfig

    def setup(self) -> None:
        config = self.config
        self.cross_attention = RecurrentCrossAttention(
            config.attention_score,
            config.d_state,
            config.d_memory,
            config.d_attention,
            config.dtype,
        )
        self.recurrence = _layer(config, config.d_model)
        self.from_context = Linear(
            (config.d_memory,),
            (CELLS[config.cell].num_gates, config.d_state),
            ("d_memory",),
            ("gates", "d_state"),
            dtype=config.dtype,
        )

    def __call__(
        self,
        words: jax.Array,
        memory: jax.Array,
        initial: jax.Array,
        *,
        source_segments: jax.Array,
        target_segments: jax.Array,
        dropout: DropoutBits | None,
    ) -> tuple[jax.Array, jax.Array]:
        """Read each sentence's words.

        Args:
          words: [batch, target_length, d_model].
          memory: [batch, source_length, d_memory].
          initial: [batch, target_length, num_parts, d_state].
          source_segments: [batch, source_length].
          target_segments: [batch, target_length].
          dropout: randomness, or None for none.

        Returns:
          hidden: float32 [batch, target_length, d_state].
          contexts: [batch, target_length, d_memory].
        """
        key = self.cross_attention.key(memory)
        take_step = self._stepper(len(words), dropout)

        def step(state: jax.Array, given: Any) -> tuple[jax.Array, Any]:
            mapped, segments = given
            mask = (segments[:, None] == source_segments) & (source_segments != 0)
            state, *seen = take_step(mapped, state, key, memory, mask[:, None])
            return state, (state[..., 0, :], *seen)

        # One hypothesis for each row, so that decoding is the same computation.
        hidden, contexts, weights = scan_sentences(
            step,
            (self.recurrence.map_input(words, dropout)[:, :, None], target_segments),
            target_segments,
            initial[:, :, None],
        )
        self.cross_attention.keep(weights[:, :, 0])
        return hidden[:, :, 0], contexts[:, :, 0]

    def step(
        self,
        words: jax.Array,
        state: jax.Array,
        key: jax.Array,
        memory: jax.Array,
        mask: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        """Read one word of every hypothesis.

        Args:
          words: [batch, num_hypotheses, d_model].
          state: [batch, num_hypotheses, num_parts, d_state].
          key: [batch, source_length, d_attention], of the memory.
          memory: [batch, source_length, d_memory].
          mask: boolean [batch, 1, source_length].

        Returns:
          The next state, and contexts [batch, num_hypotheses, d_memory].
        """
        mapped = self.recurrence.map_input(words, None)
        return self._stepper(len(words), None)(mapped, state, key, memory, mask)[:2]

    def _stepper(
        self, num_rows: int, dropout: DropoutBits | None
    ) -> Callable[..., tuple[jax.Array, jax.Array, jax.Array]]:
        """Return one step as a function of arrays alone, for a scan's body."""
        attend = self.cross_attention.attender()
        advance = self.recurrence.advancer(num_rows, dropout)
        kernel, dtype = self.from_context.kernel, self.config.dtype

        def step(
            mapped: jax.Array,
            state: jax.Array,
            key: jax.Array,
            memory: jax.Array,
            mask: jax.Array,
        ) -> tuple[jax.Array, jax.Array, jax.Array]:
            context, weights = attend(state[..., 0, :], key, memory, mask)
            mapped = mapped + flat_product(context, kernel, 1, dtype)
            return advance(mapped, state), context, weights

        return step


class AttentiveDecoder(nn.Module):
    """Recurrent layers, the first of which attends, and what they say of the next word.

    A state starts from the encoder's backward state at the first word, which has read
    the whole sentence (Bahdanau et al., Section A.2.2).
    """

    config: RecurrentAttentionConfig

    def setup(self) -> None:
        config = self.config
        num_parts = CELLS[config.cell].num_parts
        self.initial = Linear(
            (config.d_state,),
            (config.num_decoder_layers, num_parts, config.d_state),
            ("d_hidden",),
            ("layers", "parts", "d_state"),
            True,
            config.dtype,
        )
        self.layer = [
            AttentiveLayer(config),
            *(
                _layer(config, config.d_state)
                for _ in range(config.num_decoder_layers - 1)
            ),
        ]
        self.output_dropout = Dropout(
            config.dropout_rate, config.dropout_kind == "variational"
        )
        self.output = Linear(
            (config.d_state + config.d_model + config.d_memory,),
            (2, config.d_model),
            ("d_in",),
            ("pool", "d_model"),
            True,
            config.dtype,
        )

    def __call__(
        self,
        words: jax.Array,
        memory: jax.Array,
        *,
        source_segments: jax.Array,
        target_segments: jax.Array,
        dropout: DropoutBits | None,
    ) -> jax.Array:
        """Read words; shapes as in `AttentiveLayer`. Returns the shape of `words`."""
        first = first_index(target_segments, source_segments)
        initial = self._initial(take(memory, first))
        hidden, contexts = self.layer[0](
            words,
            memory,
            initial[:, :, 0],
            source_segments=source_segments,
            target_segments=target_segments,
            dropout=dropout,
        )
        for number, layer in enumerate(self.layer[1:], start=1):
            states = layer(
                hidden, target_segments, dropout, initial=initial[:, :, number]
            )
            hidden = states[..., 0, :]
        return self._finish(hidden, words, contexts, dropout)

    def start(
        self, memory: jax.Array, num_hypotheses: int
    ) -> tuple[jax.Array, jax.Array]:
        """Prepare steps on [batch, source_length, d_memory], one sentence a row.

        Returns:
          key: [batch, source_length, d_attention].
          states: [batch, num_hypotheses, num_layers, num_parts, d_state].
        """
        key = self.layer[0].cross_attention.key(memory)
        return key, jnp.repeat(self._initial(memory[:, :1]), num_hypotheses, axis=1)

    def step(
        self,
        words: jax.Array,
        states: jax.Array,
        key: jax.Array,
        memory: jax.Array,
        mask: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        """Read one word of every hypothesis; shapes as in `start` and `AttentiveLayer`.

        Returns:
          The shape of `words`, and the next states.
        """
        state, contexts = self.layer[0].step(words, states[:, :, 0], key, memory, mask)
        following = [state]
        for number, layer in enumerate(self.layer[1:], start=1):
            below = following[-1][..., 0, :]
            following.append(layer.step(below, states[:, :, number]))
        hidden = following[-1][..., 0, :]
        return self._finish(hidden, words, contexts, None), jnp.stack(following, axis=2)

    def _initial(self, memory: jax.Array) -> jax.Array:
        """Map first positions [batch, length, d_memory] to states of each layer."""
        backward = memory[..., self.config.d_state :]
        return jnp.tanh(self.initial(backward)).astype(jnp.float32)

    def _finish(
        self,
        hidden: jax.Array,
        words: jax.Array,
        contexts: jax.Array,
        dropout: DropoutBits | None,
    ) -> jax.Array:
        """Make of state, word and context what is scored: one maxout layer (A.2.2)."""
        dtype = self.config.dtype
        parts = [part.astype(dtype) for part in (hidden, words, contexts)]
        x = self.output_dropout(jnp.concatenate(parts, axis=-1), dropout)
        return self.output(x).max(axis=-2)


class RecurrentAttention(nn.Module):
    """The model; segments and `dropout` as in `models.interface`."""

    config: RecurrentAttentionConfig

    @property
    def layer_stacks(self) -> tuple[str, ...]:
        """None: a layer is a scan itself."""
        return ()

    def setup(self) -> None:
        config = self.config
        self.vocabulary = Vocabulary(config, config.d_model)
        nn.share_scope(self, self.vocabulary)
        widths = (
            config.d_model,
            *(config.d_memory,) * (config.num_encoder_layers - 1),
        )
        self.forward_layer = [_layer(config, width) for width in widths]
        self.backward_layer = [_layer(config, width) for width in widths]
        self.memory_dropout = Dropout(
            config.dropout_rate, config.dropout_kind == "variational"
        )
        self.decoder = AttentiveDecoder(config)

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
            source_tokens, source_segments=source_segments, dropout=dropout
        )
        return self.decode(
            decoder_input_tokens,
            memory,
            source_segments=source_segments,
            target_segments=target_segments,
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
        """Read each sentence from both ends.

        Returns:
          [batch, source_length, d_memory] in `config.dtype`: at each position the
          forward and then the backward state.
        """
        x = self.vocabulary.source.lookup(source_tokens, source_segments != 0)
        for forward, backward in zip(
            self.forward_layer, self.backward_layer, strict=True
        ):
            states = (
                forward(x, source_segments, dropout),
                backward(x, source_segments, dropout, is_reverse=True),
            )
            x = jnp.concatenate([state[..., 0, :] for state in states], axis=-1)
        return self.memory_dropout(x.astype(self.config.dtype), dropout)

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
        """Score the next piece after each target position.

        Returns:
          [batch, target_length, vocab_width] logits.
        """
        words = self.vocabulary.target.lookup(
            decoder_input_tokens, target_segments != 0
        )
        x = self.decoder(
            words,
            memory,
            source_segments=source_segments,
            target_segments=target_segments,
            dropout=dropout,
        )
        return self.vocabulary.logits(x)

    def init_cache(
        self,
        memory: jax.Array,
        *,
        source_segments: jax.Array,
        num_hypotheses: int,
        max_length: int,
    ) -> RecurrentAttentionCache:
        """Start every hypothesis from the encoder's backward state."""
        key, states = self.decoder.start(memory, num_hypotheses)
        sentence = {"key": key, "memory": memory, "segments": source_segments}
        return RecurrentAttentionCache(sentence, states)

    def decode_step(
        self, tokens: jax.Array, cache: RecurrentAttentionCache
    ) -> tuple[jax.Array, RecurrentAttentionCache]:
        """Do `decode` for the next position of every hypothesis."""
        sentence = cache.sentence
        x, states = self.decoder.step(
            self.vocabulary.target.lookup(tokens),
            cache.hypothesis,
            sentence["key"],
            sentence["memory"],
            (sentence["segments"] != 0)[:, None],
        )
        logits = self.vocabulary.precise_logits(x)
        return logits, dataclasses.replace(cache, hypothesis=states)

    @nn.nowrap
    def grow_cache(
        self, cache: RecurrentAttentionCache, max_length: int
    ) -> RecurrentAttentionCache:
        """Return it as it is: a state has no length."""
        return cache

    @nn.nowrap
    def forward_flops(self, source_length: float, target_length: float) -> float:
        """Count the matrix products of one sentence pair."""
        config = self.config
        d_state, d_memory = config.d_state, config.d_memory
        gates = CELLS[config.cell].num_gates * d_state
        read = config.d_model + (config.num_encoder_layers - 1) * d_memory
        # Both directions.
        encoder = 2 * gates * (read + config.num_encoder_layers * d_state)
        is_additive = config.attention_score == "additive"
        d_attention = config.d_attention if is_additive else d_state
        query = d_state * d_attention if is_additive else 0
        pair = d_attention + d_memory
        layers = (
            config.d_model + d_memory + (2 * config.num_decoder_layers - 1) * d_state
        )
        states = config.num_decoder_layers * CELLS[config.cell].num_parts * d_state
        output = 2 * config.d_model * (d_state + config.d_model + d_memory)
        decoder = gates * layers + query + states * d_state + output
        logits = config.d_model * config.target_vocab_width
        source = source_length * (encoder + d_memory * d_attention)
        target = target_length * (decoder + logits + source_length * pair)
        return 2 * (source + target)
