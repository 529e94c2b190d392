"""How to translate, apart from the model and its tokenizers."""

import dataclasses

from transformer_jax.decoding.hypotheses import LengthPenalty


@dataclasses.dataclass(frozen=True, kw_only=True)
class TranslatorSettings:
    """How to translate; a config's `decoding` has the paper's values (Section 6.1).

    Attributes:
      beam_size: hypotheses kept for each sentence; 1 is greedy search.
      alpha: exponent of the length penalty.
      length_penalty: "gnmt", ((5 + L) / 6)^alpha, or "length", L^alpha.
      max_extra_length: a translation has at most as many tokens, EOS included, as its
        source has, EOS not included, plus this many.
      max_output_length: a second limit in tokens, EOS included, for a model with a
        bounded number of positions; None for no such limit.
      num_best: candidates for each line, at most `beam_size`.
      max_source_length: longest source in tokens, EOS included, as in training; a
        longer line is translated in pieces.
      tokens_per_batch: source tokens, padding included, translated at a time.
      block_size: steps between two growths of the cache.
      min_length: tokens of a translation, EOS not included, at least; with 1 or more,
        a text of spaces also gives way to another hypothesis, if there is one.
    """

    beam_size: int
    alpha: float
    length_penalty: LengthPenalty
    max_extra_length: int
    max_output_length: int | None = None
    num_best: int = 1
    max_source_length: int
    tokens_per_batch: int
    block_size: int = 32
    min_length: int = 0

    def __post_init__(self) -> None:
        if self.max_source_length < 2:
            raise ValueError(
                f"max_source_length={self.max_source_length}: expected 2 or more, one "
                "token and EOS."
            )
        if self.max_extra_length < 0 or self.tokens_per_batch < 1:
            raise ValueError(
                f"max_extra_length={self.max_extra_length} and tokens_per_batch="
                f"{self.tokens_per_batch}: expected 0 or more and 1 or more."
            )


def check_beam(beam_size: int, vocab_size: int) -> None:
    """Make sure that the first step can fill the beam.

    Raises:
      ValueError: if it cannot.
    """
    if beam_size > vocab_size:
        raise ValueError(
            f"beam_size={beam_size} is wider than the vocabulary of {vocab_size} "
            "tokens. Use a narrower beam; 4 is the paper's."
        )
