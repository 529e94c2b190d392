"""What every source of text offers: its sentences by number."""

import dataclasses
import functools
import hashlib
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from transformer_jax.data.labels import Labels

Text = tuple[str, ...]


class TextSource(Protocol):
    """Texts by number: the one interface in front of every corpus.

    A text is a tuple with a sentence for each side: (source, target) of a pair, or one
    sentence alone; behind them, where asked for, its label or its document's number.

    Attributes:
      drops: texts that the source itself left out, by reason.
    """

    @property
    def drops(self) -> Mapping[str, int]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Text: ...

    def gather(self, indices: Sequence[int]) -> Sequence[Text]:
        """Return several texts, in the given order, as fast as the files allow."""
        ...

    def all_texts(self) -> Iterator[Text]:
        """Yield every text in order, those included that `drops` counts.

        Scores are over every line, so that is what validation and test text is made of.
        """
        ...

    def fingerprint(self) -> str:
        """Return the sha256 of the text, or of all that defines it."""
        ...


@dataclasses.dataclass(frozen=True)
class OpenRequest:
    """What a run asks of every source.

    Attributes:
      languages: a code for each sentence of a text: two for pairs, or one.
      seed: the run's.
      index_directory: where a source may keep what makes its text quick to reach.
      labels: the names that labels are made of; None: texts have none.
      has_documents: whether a sentence comes with a number that those of its document
        share, which follow each other.
    """

    languages: tuple[str, ...]
    seed: int
    index_directory: pathlib.Path
    labels: Labels | None = None
    has_documents: bool = False


class MadeTexts:
    """A `TextSource` over texts that are made when the first is asked for."""

    drops: Mapping[str, int] = {}

    def __init__(self, make: Callable[[], Sequence[Text]], num_texts: int) -> None:
        """Keep what makes the texts, and how many it will be."""
        self._make = make
        self._num_texts = num_texts

    def __len__(self) -> int:
        return self._num_texts

    def __getitem__(self, index: int) -> Text:
        return self._texts[index]

    def gather(self, indices: Sequence[int]) -> list[Text]:
        """Return several texts, in the given order."""
        return [self._texts[index] for index in indices]

    def all_texts(self) -> Iterator[Text]:
        """Yield every text in order."""
        return iter(self._texts)

    def fingerprint(self) -> str:
        """Return a hash of all texts."""
        lines = ("\t".join(text) + "\n" for text in self._texts)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @functools.cached_property
    def _texts(self) -> Sequence[Text]:
        return self._make()


class OneSide:
    """A `TextSource` of single sentences: one side of a source of pairs."""

    def __init__(self, pairs: TextSource, side: int) -> None:
        self._pairs = pairs
        self._side = side

    @property
    def drops(self) -> Mapping[str, int]:
        """The pairs' own."""
        return self._pairs.drops

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, index: int) -> Text:
        return (self._pairs[index][self._side],)

    def gather(self, indices: Sequence[int]) -> list[Text]:
        """Return several sentences, in the given order."""
        return [(pair[self._side],) for pair in self._pairs.gather(indices)]

    def all_texts(self) -> Iterator[Text]:
        """Yield every sentence in order."""
        return ((pair[self._side],) for pair in self._pairs.all_texts())

    def fingerprint(self) -> str:
        """Return a hash of the pairs' and of the side."""
        text = f"{self._pairs.fingerprint()} {self._side}"
        return hashlib.sha256(text.encode()).hexdigest()
