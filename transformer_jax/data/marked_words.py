"""Text as pieces of which each says whether it begins a word."""

import itertools
from collections.abc import Sequence

import numpy as np

from transformer_jax.data.tokenizer_file import AnyTokenizer


class MarkedWords:
    """A tokenizer's pieces, word by word, numbered so that a word's first shows.

    Words are what spaces part. Piece n is 2 n + 1 where it begins a word, else 2 n.
    """

    def __init__(self, tokenizer: AnyTokenizer) -> None:
        self._tokenizer = tokenizer

    @property
    def vocab_size(self) -> int:
        """One more than the largest number."""
        return 2 * self._tokenizer.vocab_size

    @property
    def fingerprint(self) -> str:
        """The tokenizer's, and that words are marked."""
        return f"{self._tokenizer.fingerprint} words"

    def encode(self, texts: Sequence[str], num_threads: int = 1) -> list[list[int]]:
        """Return the numbers of each text; a word without any piece is an unknown."""
        words = [text.split() for text in texts]
        pieces = iter(
            self._tokenizer.encode(list(itertools.chain(*words)), num_threads)
        )
        unknown = [self._tokenizer.unk_id]
        marked = []
        for of_text in words:
            numbers: list[int] = []
            for _ in of_text:
                ids = next(pieces) or unknown
                numbers += [2 * ids[0] + 1, *(2 * piece for piece in ids[1:])]
            marked.append(numbers)
        return marked


def unmark(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pieces, and where words begin: arrays of the given shape."""
    return numbers >> 1, (numbers & 1).astype(bool)
