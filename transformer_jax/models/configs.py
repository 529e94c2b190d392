"""Architecture sizes, as frozen dataclasses."""

import dataclasses

from transformer_jax.errors import UserError
from transformer_jax.fields import check_declared, fixed, free
from transformer_jax.models.attention import AttentionImplementation, Projections
from transformer_jax.models.layers import ACTIVATIONS, NormPosition
from transformer_jax.models.norms import NORMS
from transformer_jax.models.positions import POSITIONS, SinusoidLayout
from transformer_jax.models.softmax import AttentionScaling
from transformer_jax.models.vocabulary import VocabularyConfig, check_vocabulary


@dataclasses.dataclass(frozen=True)
class TransformerConfig(VocabularyConfig):
    """Sizes and variants of an encoder-decoder Transformer (Section 3, Table 3).

    The defaults are the paper's base model; what the paper does not have is off.
    """

    num_encoder_layers: int = fixed(6, "N of the encoder", least=1)
    num_decoder_layers: int = fixed(6, "N of the decoder", least=1)
    d_model: int = fixed(512, "width of every layer's output", least=1)
    d_ff: int = fixed(2048, "inner width of the feed-forward sub-layer", least=1)
    num_heads: int = fixed(8, "h, heads of each attention", least=1)
    d_k: int | None = fixed(
        None, "depth of queries and keys in a head; unset: d_model / num_heads", least=1
    )
    d_v: int | None = fixed(
        None, "depth of values in a head; unset: d_model / num_heads", least=1
    )
    dropout_rate: float = fixed(
        0.1,
        "P_drop, on sub-layer outputs and on embeddings plus positions",
        least=0,
        below=1,
    )
    attention_dropout_rate: float = fixed(
        0.0,
        "on attention weights; not in the paper, tensor2tensor has 0.1",
        least=0,
        below=1,
    )
    feed_forward_dropout_rate: float = fixed(
        0.0,
        "after the activation; not in the paper, tensor2tensor has 0.1",
        least=0,
        below=1,
    )
    activation: str = fixed(
        "relu",
        "of the feed-forward sub-layer; the paper's is relu",
        choices=ACTIVATIONS,
    )
    norm_position: NormPosition = fixed(
        "post",
        "post is the paper's LayerNorm(x + Sublayer(x)); pre normalises the "
        "sub-layer's input instead and adds a final norm to each stack",
    )
    norm_kind: str = fixed(
        "layer", "of every norm; the paper's is layer", choices=NORMS
    )
    norm_epsilon: float = fixed(
        1e-6,
        "added to the variance; the paper is silent, 1e-6 is tensor2tensor's",
        above=0,
    )
    positions: str = fixed(
        "sinusoidal",
        "sinusoidal (paper), learned (Table 3, row E), or none, which leaves order to "
        "the decoder's mask",
        choices=POSITIONS,
    )
    sinusoid_layout: SinusoidLayout = fixed(
        "interleaved",
        "interleaved is the paper's formula; halves has all sines, then all cosines "
        "(Marian); tensor2tensor has halves with exponent i / (d/2 - 1)",
    )
    max_positions: int = fixed(
        1024,
        "rows of a learned position table: the longest source or target, in pieces",
        least=1,
    )
    norm_embeddings: bool = fixed(
        False,
        "a norm on embeddings plus positions, as BERT has it; the paper has none",
    )
    use_attention_bias: bool = fixed(
        False, "biases in the attention projections; the paper has none"
    )
    init_stddev: float | None = fixed(
        None,
        "of kernels at the start, drawn from a normal cut off at two of it (BERT); "
        "unset: uniform, by each kernel's fans (tensor2tensor)",
        above=0,
    )
    attention_scaling: AttentionScaling = fixed(
        "sqrt_d_k",
        "of attention's scores: sqrt_d_k divides by it (Section 3.2.1); none does not",
    )
    attention_implementation: AttentionImplementation = free(
        "auto",
        "plain: products and a softmax; fused: a kernel without weights (cuDNN's on a "
        "GPU); auto: fused on a GPU from 256 keys on. The same but for rounding",
    )
    attention_projections: Projections = free(
        "auto",
        "joint: query, key and value are one product; apart: three; auto: joint on "
        "accelerators. The same but for rounding",
    )

    def __post_init__(self) -> None:
        _validate(self)

    @property
    def key_depth(self) -> int:
        """d_k, worked out if it was not given."""
        return self.d_model // self.num_heads if self.d_k is None else self.d_k

    @property
    def value_depth(self) -> int:
        """d_v, worked out if it was not given."""
        return self.d_model // self.num_heads if self.d_v is None else self.d_v

    @property
    def longest_length(self) -> int | None:
        """Pieces of the longest source or target; None where there is no limit."""
        return POSITIONS[self.positions].longest_length(self)

    @property
    def reach(self) -> int | None:
        """How far self-attention looks to either side; None: over the whole row."""
        return None


def _validate(config: TransformerConfig) -> None:
    """Check that the sizes and variants fit together.

    Raises:
      UserError: naming the field, what was expected and what to do.
    """
    check_declared(config)
    check_vocabulary(config)
    if (config.d_k is None or config.d_v is None) and config.d_model % config.num_heads:
        raise UserError(
            f"num_heads={config.num_heads} does not divide d_model={config.d_model}, "
            "so the depth of a head is unknown. Use a number of heads that divides "
            "d_model, or give both d_k and d_v."
        )
    POSITIONS[config.positions].check(config)
    _check_fused(config)


def _check_fused(config: TransformerConfig) -> None:
    """Refuse the kernel for what it cannot do."""
    if config.attention_implementation != "fused":
        return
    if config.attention_dropout_rate > 0:
        raise UserError(
            f"attention_dropout_rate={config.attention_dropout_rate} needs attention's "
            "weights, which attention_implementation=fused never makes. Use plain."
        )
    if config.key_depth != config.value_depth:
        raise UserError(
            f"attention_implementation=fused needs d_k = d_v, got {config.key_depth} "
            f"and {config.value_depth}. Use plain."
        )
