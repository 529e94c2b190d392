"""Texts that are scored and trained on as well, and pairs of twice the same text.

Compared are tokens, which is what a model sees: spaces at the ends or a normalised case
make no other text of one.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from transformer_jax.data.token_cache import Coder, TokenCache

# The ids of each side of a text, as bytes.
Key = tuple[bytes, ...]

# Texts of the cache that are read together.
_TEXTS_AT_ONCE = 1 << 16


@dataclasses.dataclass(frozen=True)
class Repetitions:
    """How much of a split is not what it should be.

    Attributes:
      noun: what its texts are: "pairs" or "lines".
      num_texts: of the split; in training those that are left after filtering.
      equal_sides: how many of them have the same tokens on both sides.
      in_training: how many are trained on as well; 0 for training itself.
    """

    noun: str
    num_texts: int
    equal_sides: int
    in_training: int = 0

    def describe(self, split: str) -> tuple[str, ...]:
        """Return what a reader of scores should know; nothing of a sound split."""
        notes = []
        if self.in_training:
            notes.append(
                f"{self.in_training} of {self.num_texts} {split} {self.noun} are also "
                "in the training text: a score counts them as if they were new."
            )
        if 2 * self.equal_sides > self.num_texts:
            notes.append(
                f"{self.equal_sides} of {self.num_texts} {split} {self.noun} have the "
                "same text on both sides. Is one file given for both?"
            )
        return tuple(notes)


def count_repetitions(
    train: TokenCache,
    splits: Mapping[str, Sequence[Sequence[str]]],
    tokenizers: Sequence[Coder],
) -> dict[str, Repetitions]:
    """Go through the training tokens once, and look for the texts of other splits.

    Args:
      train: tokens of the training split.
      splits: the lines of each side of every other split.
      tokenizers: one for each of these sides; others that training's texts have behind
        them, as labels, make no other text.

    Returns:
      For each split, and "train", what it repeats.
    """
    keys = {split: _keys_of_lines(sides, tokenizers) for split, sides in splits.items()}
    wanted = set(itertools.chain.from_iterable(keys.values()))
    found, equal_sides = set(), 0
    for key in _keys_of_cache(train, len(tokenizers)):
        equal_sides += _has_equal_sides(key)
        if key in wanted:
            found.add(key)
    noun = "pairs" if len(tokenizers) > 1 else "lines"
    return {"train": Repetitions(noun, len(train), equal_sides)} | {
        split: Repetitions(
            noun,
            num_texts=len(of_split),
            equal_sides=sum(map(_has_equal_sides, of_split)),
            in_training=sum(key in found for key in of_split),
        )
        for split, of_split in keys.items()
    }


def _has_equal_sides(key: Key) -> bool:
    return len(key) > 1 and key[0] == key[1] != b""


def _keys_of_lines(
    sides: Sequence[Sequence[str]], tokenizers: Sequence[Coder]
) -> list[Key]:
    keys = [
        [np.array(ids, np.int32).tobytes() for ids in tokenizer.encode(lines, 1)]
        for tokenizer, lines in zip(tokenizers, sides, strict=True)
    ]
    return list(zip(*keys, strict=True))


def _keys_of_cache(cache: TokenCache, num_sides: int) -> Iterator[Key]:
    """Yield the key of each text's first sides, in order."""
    for start in range(0, len(cache), _TEXTS_AT_ONCE):
        texts = np.arange(start, min(start + _TEXTS_AT_ONCE, len(cache)))
        sides = []
        for ids, lengths in zip(
            cache.gather(texts)[:num_sides],
            cache.lengths[:num_sides, texts],
            strict=True,
        ):
            content, ends = ids.tobytes(), np.cumsum(lengths) * ids.itemsize
            bounds = itertools.pairwise([0, *ends.tolist()])
            sides.append([content[first:end] for first, end in bounds])
        yield from zip(*sides, strict=True)
