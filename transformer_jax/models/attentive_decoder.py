"""The recurrent decoder that attends (Bahdanau et al. 2015, Section 3.1, A.2.2)."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.layers import Linear, flat_product
from transformer_jax.models.recurrence import CELLS, recurrent_layer, scan_sentences
from transformer_jax.models.recurrent_attention_config import RecurrentAttentionConfig
from transformer_jax.models.recurrent_cross_attention import RecurrentCrossAttention
from transformer_jax.models.segments import first_index, take


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
        self.recurrence = recurrent_layer(config, config.d_model)
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
                recurrent_layer(config, config.d_state)
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
