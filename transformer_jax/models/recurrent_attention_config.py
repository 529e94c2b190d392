"""Sizes of the recurrent model with attention."""

import dataclasses

from transformer_jax.fields import fixed
from transformer_jax.models.recurrence import CellName, RecurrenceConfig
from transformer_jax.models.recurrent_cross_attention import Score


@dataclasses.dataclass(frozen=True)
class RecurrentAttentionConfig(RecurrenceConfig):
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

    @property
    def d_memory(self) -> int:
        """Width of what the decoder looks at: states of both directions."""
        return 2 * self.d_state
