"""A recurrent encoder-decoder whose decoder looks at the whole source.

Bahdanau et al. 2015 (arXiv 1409.0473), with its additive score; as an option the
multiplicative one of Luong et al. 2015 (arXiv 1508.04025, "general").
"""

import dataclasses

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from transformer_jax.models.attentive_decoder import AttentiveDecoder
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.encoder_decoder import encode_and_decode
from transformer_jax.models.recurrence import CELLS, recurrent_layer
from transformer_jax.models.recurrent_attention_config import RecurrentAttentionConfig
from transformer_jax.models.vocabulary import Vocabulary


@flax.struct.dataclass
class RecurrentAttentionCache:
    """What decoding remembers between two steps.

    Attributes:
      sentence: the memory, its keys and its segments: [batch, source_length, ...].
      hypothesis: float32 [batch, num_hypotheses, num_layers, num_parts, d_state].
    """

    sentence: dict[str, jax.Array]
    hypothesis: jax.Array


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
        self.forward_layer = [recurrent_layer(config, width) for width in widths]
        self.backward_layer = [recurrent_layer(config, width) for width in widths]
        self.memory_dropout = Dropout(
            config.dropout_rate, config.dropout_kind == "variational"
        )
        self.decoder = AttentiveDecoder(config)

    __call__ = encode_and_decode

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
