"""Architecture sizes, as frozen dataclasses."""

import dataclasses
import typing
from typing import Literal

import jax.numpy as jnp
from jax.typing import DTypeLike

from transformer_jax.errors import UserError


@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """Sizes and variants of an encoder-decoder Transformer (Section 3, Table 3).

    The defaults are the paper's base model; what the paper does not have is off.

    Attributes:
      source_vocab_size: number of pieces of the source vocabulary.
      target_vocab_size: number of pieces of the target vocabulary, V in the losses.
      vocab_multiple: tables are padded up to a multiple of this; a padding row is never
        predicted and is not counted as vocabulary.
      num_encoder_layers: N of the encoder.
      num_decoder_layers: N of the decoder.
      d_model: width of every layer's output.
      d_ff: inner width of the feed-forward sub-layer.
      num_heads: h.
      d_k: depth of queries and keys in a head; None means d_model / num_heads.
      d_v: depth of values in a head; None means d_model / num_heads.
      dropout_rate: P_drop, on sub-layer outputs and on embeddings plus positions.
      attention_dropout_rate: on attention weights; the paper has none.
      feed_forward_dropout_rate: after the activation; the paper has none.
      activation: of the feed-forward sub-layer; the paper's is ReLU.
      norm_position: "post" is the paper's LayerNorm(x + Sublayer(x)); "pre" normalises
        the sub-layer's input instead and adds a final norm to each stack.
      norm_epsilon: added to the variance; the paper is silent, 1e-6 is tensor2tensor's.
      positions: sinusoidal (the paper's) or learned (Table 3, row E).
      sinusoid_layout: "interleaved" is the paper's formula; "halves" has all sines,
        then all cosines (Marian); "tensor2tensor" has halves with exponent
        i / (d/2 - 1).
      max_positions: rows of a learned position table.
      tied_embeddings: "all" shares one matrix between source, target and logits
        (Section 3.4); "target" shares target and logits alone; "none" shares nothing.
      use_attention_bias: biases in the attention projections; off in the paper.
      use_logits_bias: a bias on the logits; off in the paper.
      dtype: what to compute in; parameters, softmax and loss stay float32.
    """

    source_vocab_size: int
    target_vocab_size: int
    vocab_multiple: int = 1
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    d_k: int | None = None
    d_v: int | None = None
    dropout_rate: float = 0.1
    attention_dropout_rate: float = 0.0
    feed_forward_dropout_rate: float = 0.0
    activation: Literal["relu", "gelu", "swish"] = "relu"
    norm_position: Literal["post", "pre"] = "post"
    norm_epsilon: float = 1e-6
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    sinusoid_layout: Literal["interleaved", "halves", "tensor2tensor"] = "interleaved"
    max_positions: int = 1024
    tied_embeddings: Literal["all", "target", "none"] = "all"
    use_attention_bias: bool = False
    use_logits_bias: bool = False
    dtype: DTypeLike = jnp.float32

    def __post_init__(self) -> None:
        validate(self)

    @property
    def key_depth(self) -> int:
        """d_k, worked out if it was not given."""
        return self.d_model // self.num_heads if self.d_k is None else self.d_k

    @property
    def value_depth(self) -> int:
        """d_v, worked out if it was not given."""
        return self.d_model // self.num_heads if self.d_v is None else self.d_v

    @property
    def source_vocab_width(self) -> int:
        """Rows of the source table, padding rows included."""
        return _round_up(self.source_vocab_size, self.vocab_multiple)

    @property
    def target_vocab_width(self) -> int:
        """Rows of the target table and number of logits, padding rows included."""
        return _round_up(self.target_vocab_size, self.vocab_multiple)


def _round_up(number: int, multiple: int) -> int:
    """Return the smallest multiple that is not below `number`."""
    return -(-number // multiple) * multiple


def validate(config: TransformerConfig) -> None:
    """Check that the sizes and variants fit together.

    Raises:
      UserError: naming the field, what was expected and what to do.
    """
    _validate_sizes(config)
    _validate_variants(config)
    if (config.d_k is None or config.d_v is None) and config.d_model % config.num_heads:
        raise UserError(
            f"model.num_heads={config.num_heads} does not divide "
            f"model.d_model={config.d_model}, so the depth of a head is unknown. Use "
            "a number of heads that divides d_model, or give both model.d_k and "
            "model.d_v."
        )
    if config.positions == "sinusoidal" and config.d_model % 2:
        raise UserError(
            f"model.d_model={config.d_model} is odd, but sinusoids come in pairs. Use "
            "an even d_model or model.positions=learned."
        )
    if (
        config.tied_embeddings == "all"
        and config.source_vocab_size != config.target_vocab_size
    ):
        raise UserError(
            "model.tied_embeddings=all needs one vocabulary for both languages, got "
            f"{config.source_vocab_size} source and {config.target_vocab_size} target "
            "pieces. Train a joint tokenizer, or set tied_embeddings=target."
        )


def _validate_sizes(config: TransformerConfig) -> None:
    """Check each number by itself."""
    for name in (
        "source_vocab_size",
        "target_vocab_size",
        "vocab_multiple",
        "num_encoder_layers",
        "num_decoder_layers",
        "d_model",
        "d_ff",
        "num_heads",
        "d_k",
        "d_v",
        "max_positions",
    ):
        size = getattr(config, name)
        if size is not None and size < 1:
            raise UserError(f"model.{name}={size} must be at least 1.")
    for name in ("dropout_rate", "attention_dropout_rate", "feed_forward_dropout_rate"):
        rate = getattr(config, name)
        if not 0 <= rate < 1:
            raise UserError(
                f"model.{name}={rate} must be at least 0 and below 1: it is the share "
                "of elements that are dropped."
            )
    if config.norm_epsilon <= 0:
        raise UserError(f"model.norm_epsilon={config.norm_epsilon} must be above 0.")


def _validate_variants(config: TransformerConfig) -> None:
    """Check that each choice is one that exists."""
    hints = typing.get_type_hints(TransformerConfig)
    for name, hint in hints.items():
        if typing.get_origin(hint) is Literal:
            choices = typing.get_args(hint)
            if getattr(config, name) not in choices:
                raise UserError(
                    f"model.{name}={getattr(config, name)!r} does not exist. Use one "
                    f"of {', '.join(choices)}."
                )
    try:
        dtype = jnp.dtype(config.dtype)
    except TypeError:
        dtype = None
    if dtype not in (jnp.float32, jnp.bfloat16):
        raise UserError(f"model.dtype={config.dtype!r}: use float32 or bfloat16.")
