"""Sentence pairs from somewhere, and nothing else.

A source offers random access to (source, target) sentences as plain text; tokens,
lengths and batches are the business of the folder above. To add one, write a file here
and one line in `SOURCES`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol


class PairSource(Protocol):
    """Sentence pairs by number: the one interface in front of every corpus.

    Attributes:
      drops: pairs that the source itself left out, by reason.
    """

    @property
    def drops(self) -> Mapping[str, int]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> tuple[str, str]: ...

    def gather(self, indices: Sequence[int]) -> list[tuple[str, str]]:
        """Return several pairs, in the given order, as fast as the files allow."""
        ...

    def all_pairs(self) -> Iterator[tuple[str, str]]:
        """Yield every pair in order, those included that `drops` counts.

        Scores are over every line, so that is what validation and test text is made of.
        """
        ...

    def fingerprint(self) -> str:
        """Return the sha256 of the text, or of all that defines it."""
        ...


def _open_files(**settings: Any) -> PairSource:
    from transformer_jax.data.sources.text_files import TextFilePairs

    return TextFilePairs(**settings)


def _open_grammar(**settings: Any) -> PairSource:
    from transformer_jax.data.sources.grammar import GrammarPairs

    return GrammarPairs(**settings)


def _open_tfds(**settings: Any) -> PairSource:
    from transformer_jax.data.sources.tfds_pairs import TfdsPairs

    return TfdsPairs(**settings)


# Openers import on use, so that a source costs nothing until it is asked for.
SOURCES: dict[str, Callable[..., PairSource]] = {
    "files": _open_files,
    "grammar": _open_grammar,
    "tfds": _open_tfds,
}
