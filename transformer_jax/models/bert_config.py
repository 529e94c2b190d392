"""Sizes of BERT, by name and as a frozen dataclass (Devlin et al. 2018)."""

import dataclasses

from transformer_jax.errors import UserError
from transformer_jax.fields import check_declared, fixed, free
from transformer_jax.models.attention import AttentionImplementation, Projections
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.layers import ACTIVATIONS
from transformer_jax.models.vocabulary import ComputeType, round_up


def _sizes(num_layers: int, d_model: int) -> dict[str, int]:
    # In all of them a head is 64 wide and the inner layer four times the width.
    return {
        "num_layers": num_layers,
        "d_model": d_model,
        "d_ff": 4 * d_model,
        "num_heads": d_model // 64,
    }


# What `config.model` is updated with. Base and large: Devlin et al. 2018, Section 3;
# the others: Turc et al. 2019, Table 1.
BERT_SIZES = {
    "tiny": _sizes(2, 128),
    "mini": _sizes(4, 256),
    "small": _sizes(4, 512),
    "medium": _sizes(8, 512),
    "base": _sizes(12, 768),
    "large": _sizes(24, 1024),
}


@dataclasses.dataclass(frozen=True)
class BertConfig:
    """Sizes of an encoder that is pre-trained; the defaults are those of BERT base.

    Attributes:
      vocab_size: number of pieces.
      num_classes: that the task tells apart; 0 for pre-training.
    """

    vocab_size: int
    _: dataclasses.KW_ONLY
    num_classes: int = 0
    num_layers: int = fixed(12, "layers of the encoder", least=1)
    d_model: int = fixed(768, "width of every layer's output", least=1)
    d_ff: int = fixed(3072, "inner width of the feed-forward sub-layer", least=1)
    num_heads: int = fixed(12, "heads of each attention", least=1)
    dropout_rate: float = fixed(
        0.1, "on sub-layer outputs and on the embeddings", least=0, below=1
    )
    attention_dropout_rate: float = fixed(0.1, "on attention weights", least=0, below=1)
    activation: str = fixed(
        "gelu",
        "of the feed-forward sub-layer and of the head that predicts tokens",
        choices=ACTIVATIONS,
    )
    norm_epsilon: float = fixed(1e-12, "added to the variance in norms", above=0)
    max_positions: int = fixed(
        512, "rows of the position table: the longest input, in pieces", least=1
    )
    num_token_types: int = fixed(
        2, "rows of the table that tells the first sentence from the second", least=1
    )
    init_stddev: float = fixed(
        0.02,
        "of kernels and tables at the start, drawn from a normal cut off at two of it",
        above=0,
    )
    vocab_multiple: int = fixed(
        1,
        "the token table is padded up to a multiple of this many rows; a padding row "
        "is never predicted",
        least=1,
    )
    dtype: ComputeType = fixed(
        "float32", "what to compute in; parameters, softmax and loss are float32"
    )
    attention_implementation: AttentionImplementation = free(
        "auto", "as the Transformer's; fused needs an attention_dropout_rate of 0"
    )
    attention_projections: Projections = free("auto", "as the Transformer's")

    def __post_init__(self) -> None:
        check_declared(self)
        if self.vocab_size < 1:
            raise UserError(f"vocab_size={self.vocab_size}: expected at least 1.")
        _ = self.encoder  # Refuses sizes that make no encoder.

    @property
    def vocab_width(self) -> int:
        """Rows of the token table, padding rows included."""
        return round_up(self.vocab_size, self.vocab_multiple)

    @property
    def longest_length(self) -> int:
        """Pieces of the longest sentence: the piece that opens it has a place too."""
        return self.max_positions - 1

    @property
    def encoder(self) -> TransformerConfig:
        """The same encoder as a part of the Transformer, which has it too."""
        return TransformerConfig(
            self.vocab_size,
            self.vocab_size,
            num_encoder_layers=self.num_layers,
            d_model=self.d_model,
            d_ff=self.d_ff,
            num_heads=self.num_heads,
            dropout_rate=self.dropout_rate,
            attention_dropout_rate=self.attention_dropout_rate,
            activation=self.activation,
            norm_epsilon=self.norm_epsilon,
            positions="none",  # They are in the embeddings.
            use_attention_bias=True,
            init_stddev=self.init_stddev,
            attention_implementation=self.attention_implementation,
            attention_projections=self.attention_projections,
            dtype=self.dtype,
        )
