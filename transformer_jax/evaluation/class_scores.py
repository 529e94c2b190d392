"""Scores of classes: accuracy, F1, Matthews's correlation."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from transformer_jax.text_table import text_table


@dataclasses.dataclass(frozen=True)
class ClassScores:
    """How well guessed classes agree with the true ones.

    Attributes:
      accuracy: share of guesses that are right.
      f1: harmonic mean of precision and recall: of the last class where there are two,
        as in GLUE's paraphrases; else the mean over all classes that occur.
      matthews: correlation of guesses and truths, from -1 to 1; 0 if one is constant.
    """

    accuracy: float
    f1: float
    matthews: float

    def as_dict(self) -> dict[str, float]:
        """Return the scores by name."""
        return dataclasses.asdict(self)

    def table(self) -> str:
        """Return the scores as lines of text."""
        return text_table(
            [
                ("accuracy, %", f"{100 * self.accuracy:.2f}"),
                ("F1, %", f"{100 * self.f1:.2f}"),
                ("Matthews's correlation, %", f"{100 * self.matthews:.2f}"),
            ],
            right=[1],
        )


CLASS_SCORE_NAMES = tuple(field.name for field in dataclasses.fields(ClassScores))


def score_classes(
    guesses: Sequence[int], truths: Sequence[int], num_classes: int
) -> ClassScores:
    """Compare guesses with truths.

    Args:
      guesses: numbers of classes.
      truths: likewise, as many and at least one.
      num_classes: how many there are.
    """
    confusion = np.zeros((num_classes, num_classes), np.int64)  # [truths, guesses]
    np.add.at(confusion, (np.asarray(truths), np.asarray(guesses)), 1)
    return ClassScores(
        accuracy=float(np.trace(confusion) / confusion.sum()),
        f1=_f1(confusion),
        matthews=_matthews(confusion),
    )


def _f1(confusion: np.ndarray) -> float:
    right = np.diag(confusion)
    # Twice the right ones over all guesses and truths of the class.
    occurrences = confusion.sum(axis=0) + confusion.sum(axis=1)
    by_class = 2 * right / np.maximum(occurrences, 1)
    if len(confusion) == 2:
        return float(by_class[-1])
    return float(by_class[occurrences > 0].mean())


def _matthews(confusion: np.ndarray) -> float:
    """Return Gorodkin's correlation of K classes (2004), Matthews's where K is 2."""
    total = float(confusion.sum())
    of_truths, of_guesses = confusion.sum(axis=1) / total, confusion.sum(axis=0) / total
    spread = (1 - (of_truths**2).sum()) * (1 - (of_guesses**2).sum())
    if spread <= 0:
        return 0.0
    covariance = np.trace(confusion) / total - of_truths @ of_guesses
    return float(covariance / spread**0.5)
