"""Which sentences belong together: the number of a document beside each of them."""

import functools
import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from transformer_jax.data.token_cache import TokenCache

# Sentences of the cache that are looked at together.
_SENTENCES_AT_ONCE = 1 << 16


class DocumentNumbers:
    """Makes numbers of the side that says which document a sentence is of."""

    # Neighbours alone are compared, so that two bytes do.
    vocab_size = 1 << 16
    fingerprint = hashlib.sha256(b"document numbers").hexdigest()

    def encode(self, numbers: Sequence[str], num_threads: int = 1) -> list[list[int]]:
        """Return each number, or what is left of a large one, alone."""
        return [[int(number) % self.vocab_size] for number in numbers]


class Documents:
    """Where the documents of a text begin; its sentences stand in their order.

    Attributes:
      bounds: [documents + 1] the first sentence of each, and the number of sentences.
    """

    def __init__(self, starts: Sequence[int], num_sentences: int) -> None:
        self.bounds = np.array([*starts, num_sentences])

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def around(self, sentence: int) -> tuple[int, int]:
        """Return the first sentence of a sentence's document, and the one behind it."""
        after = int(np.searchsorted(self.bounds, sentence, side="right"))
        return int(self.bounds[after - 1]), int(self.bounds[after])


@functools.lru_cache(maxsize=2)  # Training's and validation's: they never change.
def documents_of(cache: TokenCache) -> Documents:
    """Find the documents of a text whose last side numbers them."""
    return Documents(list(_starts(cache)), len(cache))


def _starts(cache: TokenCache) -> Iterator[int]:
    """Yield each sentence whose document is not that of the sentence before it."""
    before = -1
    for first in range(0, len(cache), _SENTENCES_AT_ONCE):
        stop = min(first + _SENTENCES_AT_ONCE, len(cache))
        numbers = cache.gather(np.arange(first, stop))[-1]
        changes = np.diff(numbers, prepend=before) != 0
        yield from (first + np.flatnonzero(changes)).tolist()
        before = int(numbers[-1])
