"""Both languages' tables, from tokens to vectors and back to logits (Section 3.4)."""

import dataclasses
from typing import Literal

import flax.linen as nn
import jax

from transformer_jax.errors import UserError
from transformer_jax.fields import fixed
from transformer_jax.models.embeddings import TokenEmbedding, mask_padded_vocabulary
from transformer_jax.models.parameters import parameter

TiedEmbeddings = Literal["all", "target", "none"]
ComputeType = Literal["float32", "bfloat16"]


@dataclasses.dataclass(frozen=True)
class VocabularyConfig:
    """What every translation model's config begins with.

    Attributes:
      source_vocab_size: number of pieces of the source vocabulary.
      target_vocab_size: number of pieces of the target vocabulary, V in the losses.
    """

    source_vocab_size: int
    target_vocab_size: int
    _: dataclasses.KW_ONLY
    tied_embeddings: TiedEmbeddings = fixed(
        "all",
        "all shares one matrix between source, target and logits (Section 3.4); target "
        "shares target and logits alone; none shares nothing",
    )
    use_logits_bias: bool = fixed(False, "a bias on the logits; the paper has none")
    vocab_multiple: int = fixed(
        1,
        "tables are padded up to a multiple of this many rows; a padding row is never "
        "predicted and is not counted as vocabulary",
        least=1,
    )
    dtype: ComputeType = fixed(
        "float32", "what to compute in; parameters, softmax and loss are float32"
    )

    @property
    def source_vocab_width(self) -> int:
        """Rows of the source table, padding rows included."""
        return round_up(self.source_vocab_size, self.vocab_multiple)

    @property
    def target_vocab_width(self) -> int:
        """Rows of the target table and number of logits, padding rows included."""
        return round_up(self.target_vocab_size, self.vocab_multiple)


def round_up(number: int, multiple: int) -> int:
    """Return the smallest multiple that is not below `number`."""
    return -(-number // multiple) * multiple


def check_vocabulary(config: VocabularyConfig) -> None:
    """Check that the sizes of the vocabularies and what they share fit together.

    Raises:
      UserError: naming the field, what was expected and what to do.
    """
    for name in ("source_vocab_size", "target_vocab_size"):
        if getattr(config, name) < 1:
            raise UserError(f"{name}={getattr(config, name)}: expected at least 1.")
    if (
        config.tied_embeddings == "all"
        and config.source_vocab_size != config.target_vocab_size
    ):
        raise UserError(
            "tied_embeddings=all needs one vocabulary for both languages, got "
            f"{config.source_vocab_size} source and {config.target_vocab_size} target "
            "pieces. Train a joint tokenizer, or set tied_embeddings=target."
        )


class Vocabulary(nn.Module):
    """The tables of both sides, some or all of them one and the same (Section 3.4).

    `nn.share_scope` gives a model these parameters under its own name.

    Attributes:
      config: of the model, a `VocabularyConfig`.
      d_model: width of the vectors.
    """

    config: VocabularyConfig
    d_model: int

    def setup(self) -> None:
        config = self.config

        def table(num_rows: int) -> TokenEmbedding:
            return TokenEmbedding(num_rows, self.d_model, config.dtype)

        if config.tied_embeddings == "all":
            self.token_embedding = table(config.target_vocab_width)
        else:
            self.source_embedding = table(config.source_vocab_width)
            self.target_embedding = table(config.target_vocab_width)
        if config.tied_embeddings == "none":
            self.output_embedding = table(config.target_vocab_width)
        if config.use_logits_bias:
            zeros = nn.initializers.zeros
            shape = (config.target_vocab_width,)
            self.logits_bias = parameter(self, "logits_bias", zeros, ("vocab",), shape)

    @property
    def source(self) -> TokenEmbedding:
        """The table that source tokens are looked up in."""
        tied = self.config.tied_embeddings == "all"
        return self.token_embedding if tied else self.source_embedding

    @property
    def target(self) -> TokenEmbedding:
        """The table that the decoder's input is looked up in."""
        tied = self.config.tied_embeddings == "all"
        return self.token_embedding if tied else self.target_embedding

    def logits(self, x: jax.Array) -> jax.Array:
        """Score every piece at [batch, length, d_model], for a loss.

        Returns:
          [batch, length, vocab_width] in `config.dtype`; the lowest finite number at
          padding rows of the vocabulary.
        """
        return self._finish(self._output.logits(x))

    def precise_logits(self, x: jax.Array) -> jax.Array:
        """Do `logits` in float32, for a search; see `TokenEmbedding`."""
        return self._finish(self._output.precise_logits(x))

    @property
    def _output(self) -> TokenEmbedding:
        tied = self.config.tied_embeddings != "none"
        return self.target if tied else self.output_embedding

    def _finish(self, logits: jax.Array) -> jax.Array:
        """Add the bias; mask padding rows."""
        if self.config.use_logits_bias:
            biased = logits + self.logits_bias[None, None]
            logits = biased.astype(logits.dtype)
        return mask_padded_vocabulary(logits, self.config.target_vocab_size)
