"""A recurrent encoder-decoder: the source's last state is all that the decoder gets.

Sutskever et al. 2014 (arXiv 1409.3215) with an LSTM, Cho et al. 2014 (arXiv 1406.1078)
with a GRU.
"""

import dataclasses

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from transformer_jax.fields import fixed
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.encoder_decoder import encode_and_decode
from transformer_jax.models.layers import Linear
from transformer_jax.models.recurrence import (
    CELLS,
    CellName,
    RecurrenceConfig,
    recurrent_layer,
)
from transformer_jax.models.segments import first_index, last_index, take
from transformer_jax.models.vocabulary import (
    Vocabulary,
)


@dataclasses.dataclass(frozen=True)
class RecurrentConfig(RecurrenceConfig):
    """Sizes of a recurrent encoder-decoder; the defaults are Sutskever et al.'s."""

    cell: CellName = fixed("lstm", "lstm (Sutskever et al.) or gru (Cho et al.)")
    num_layers: int = fixed(4, "recurrent layers of each side", least=1)
    d_model: int = fixed(1000, "width of the token vectors", least=1)
    d_state: int = fixed(1000, "d_h, width of each layer's state", least=1)
    reverse_source: bool = fixed(
        True,
        "the source is read from its end, so that its first words are near the first "
        "words of the target (Sutskever et al., Section 3.3)",
    )
    dropout_rate: float = fixed(
        0.2, "on what each layer reads and on the last output", least=0, below=1
    )


@flax.struct.dataclass
class RecurrentCache:
    """What decoding remembers between two steps.

    Attributes:
      sentence: nothing; all that is known of the source is in the states.
      hypothesis: float32 [batch, num_hypotheses, num_layers, num_parts, d_state].
    """

    sentence: tuple[()]
    hypothesis: jax.Array


class Recurrent(nn.Module):
    """The model; segments and `dropout` as in `models.interface`."""

    config: RecurrentConfig

    @property
    def layer_stacks(self) -> tuple[str, ...]:
        """None: a layer is a scan itself."""
        return ()

    def setup(self) -> None:
        config = self.config
        self.vocabulary = Vocabulary(config, config.d_model)
        nn.share_scope(self, self.vocabulary)
        widths = (config.d_model, *(config.d_state,) * (config.num_layers - 1))
        self.encoder_layer = [recurrent_layer(config, width) for width in widths]
        self.decoder_layer = [recurrent_layer(config, width) for width in widths]
        self.output_dropout = Dropout(
            config.dropout_rate, config.dropout_kind == "variational"
        )
        self.output = Linear(
            (config.d_state,),
            (config.d_model,),
            ("d_state",),
            ("d_model",),
            True,
            config.dtype,
        )

    __call__ = encode_and_decode

    def encode(
        self,
        source_tokens: jax.Array,
        *,
        source_segments: jax.Array,
        source_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Read each sentence to its end.

        Returns:
          float32 [batch, source_length, num_layers, num_parts, d_state]: at each
          position the last states of its sentence.
        """
        end = last_index(source_segments, source_segments)
        if self.config.reverse_source:
            start = first_index(source_segments, source_segments)
            here = jnp.arange(source_tokens.shape[1])[None]
            source_tokens = take(source_tokens, start + end - here)
        x = self.vocabulary.source.lookup(source_tokens, source_segments != 0)
        last = []
        for layer in self.encoder_layer:
            states = layer(x, source_segments, dropout)
            last.append(take(states, end))
            x = states[..., 0, :]
        return jnp.stack(last, axis=2)

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
        """Go on from the source's last states, which nothing else follows.

        Returns:
          [batch, target_length, vocab_width] logits.
        """
        initial = take(memory, first_index(target_segments, source_segments))
        x = self.vocabulary.target.lookup(decoder_input_tokens, target_segments != 0)
        for number, layer in enumerate(self.decoder_layer):
            states = layer(x, target_segments, dropout, initial=initial[:, :, number])
            x = states[..., 0, :]
        return self.vocabulary.logits(self.output(self.output_dropout(x, dropout)))

    def init_cache(
        self,
        memory: jax.Array,
        *,
        source_segments: jax.Array,
        num_hypotheses: int,
        max_length: int,
    ) -> RecurrentCache:
        """Start every hypothesis from the source's last states."""
        return RecurrentCache((), jnp.repeat(memory[:, :1], num_hypotheses, axis=1))

    def decode_step(
        self, tokens: jax.Array, cache: RecurrentCache
    ) -> tuple[jax.Array, RecurrentCache]:
        """Do `decode` for the next position of every hypothesis."""
        x = self.vocabulary.target.lookup(tokens)
        states = []
        for number, layer in enumerate(self.decoder_layer):
            states.append(layer.step(x, cache.hypothesis[:, :, number]))
            x = states[-1][..., 0, :]
        logits = self.vocabulary.precise_logits(self.output(x))
        return logits, RecurrentCache((), jnp.stack(states, axis=2))

    @nn.nowrap
    def grow_cache(self, cache: RecurrentCache, max_length: int) -> RecurrentCache:
        """Return it as it is: a state has no length."""
        return cache

    @nn.nowrap
    def forward_flops(self, source_length: float, target_length: float) -> float:
        """Count the matrix products of one sentence pair."""
        config = self.config
        widths_in = config.d_model + (config.num_layers - 1) * config.d_state
        widths = widths_in + config.num_layers * config.d_state
        side = 2 * CELLS[config.cell].num_gates * config.d_state * widths
        output = 2 * config.d_model * (config.d_state + config.target_vocab_width)
        return (source_length + target_length) * side + target_length * output
