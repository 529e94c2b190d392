"""The sizes of a model and a batch, as all contestants get them, and random tokens."""

import dataclasses

import numpy as np

PAD, UNKNOWN, BOS, EOS = range(4)
NUM_SPECIAL = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """A model and a batch for it; plain values, to be handed on as JSON.

    Attributes:
      model: "tiny", "base" or "big".
      dtype: what to compute in, "float32" or "bfloat16".
      vocab_size: pieces.
      vocab_width: columns of the logits, the vocabulary rounded up.
      num_encoder_layers: layers of the encoder.
      num_decoder_layers: layers of the decoder.
      d_model: width of the model.
      d_ff: width inside a feed-forward layer.
      num_heads: heads of attention.
      dropout_rate: on embeddings and sub-layers.
      label_smoothing: of the loss.
      is_pre_norm: norms before the sub-layers, and one at the end of each stack.
      rows: sentence pairs of a batch.
      length: positions of a row on either side.
    """

    model: str
    dtype: str
    vocab_size: int
    vocab_width: int
    num_encoder_layers: int
    num_decoder_layers: int
    d_model: int
    d_ff: int
    num_heads: int
    dropout_rate: float
    label_smoothing: float
    is_pre_norm: bool
    rows: int
    length: int

    @property
    def num_tokens(self) -> int:
        """Tokens of one side of a batch, which has no padding."""
        return self.rows * self.length

    def random_tokens(self, seed: int) -> np.ndarray:
        """Return [rows, length] int32."""
        rng = np.random.default_rng(seed)
        shape = (self.rows, self.length)
        return rng.integers(NUM_SPECIAL, self.vocab_size, shape, np.int32)


def shifted_right(tokens: np.ndarray) -> np.ndarray:
    """Return BOS and then all tokens of each row but the last."""
    shifted = np.roll(tokens, 1, axis=1)
    shifted[:, 0] = BOS
    return shifted
