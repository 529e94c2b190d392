"""Architecture sizes, as frozen dataclasses."""

import dataclasses
from typing import Literal

import jax.numpy as jnp
from jax.typing import DTypeLike


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
      sinusoid_layout: "interleaved" is the paper's formula; "halves" has all sines, then
        all cosines (Marian); "tensor2tensor" has halves with exponent i / (d/2 - 1).
      max_positions: rows of a learned position table.
      tied_embeddings: "all" shares one matrix between source, target and logits (Section
        3.4); "target" shares target and logits alone; "none" shares nothing.
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
