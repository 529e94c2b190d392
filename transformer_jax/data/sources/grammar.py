"""The built-in corpus: English sentences with their German translations, made up.

The English sentence alone decides its split, so no two splits ever share one.
"""

import functools
import hashlib
import importlib.resources
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, get_args

from transformer_jax.data.grammar import english, german, sentences
from transformer_jax.data.grammar.structures import Sentence

Split = Literal["train", "validation", "test", "long"]

# Words on either side. Up to this many in training; more, on both sides, in "long".
MAX_WORDS = 20
MAX_WORDS_LONG = 40

# An English sentence falls into one of these drawers: one each is held out for
# validation and for test.
_NUM_DRAWERS = 16
_HELD_OUT = {0: "validation", 1: "test"}


class GrammarPairs:
    """A random-access source of sentence pairs, the same for the same arguments.

    Training pairs may repeat, rarely; the pairs of the other splits are distinct.

    Args:
      split: "train", "validation", "test" or "long".
      num_pairs: how many pairs.
      seed: another seed, other sentences (never those of another split).
    """

    drops: Mapping[str, int] = {}

    def __init__(self, split: Split, num_pairs: int, seed: int = 0):
        if split not in get_args(Split):
            raise ValueError(
                f"the grammar has no split {split!r}; it has {', '.join(get_args(Split))}"
            )
        if num_pairs < 1:
            raise ValueError(f"num_pairs must be positive, got {num_pairs}")
        self._split: Split = split
        self._num_pairs = num_pairs
        self._seed = seed

    def __len__(self) -> int:
        return self._num_pairs

    def __getitem__(self, index: int) -> tuple[str, str]:
        if not 0 <= index < self._num_pairs:
            raise IndexError(f"pair {index} of {self._num_pairs}")
        if self._split == "train":
            return make_pair("train", index, self._seed)
        return self._distinct_pairs[index]

    def all_pairs(self) -> Iterator[tuple[str, str]]:
        """Yield every pair in order; the grammar drops none."""
        return (self[index] for index in range(self._num_pairs))

    @functools.cached_property
    def _distinct_pairs(self) -> list[tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        index = 0
        while len(found) < self._num_pairs:
            pair = make_pair(self._split, index, self._seed)
            found.setdefault(pair[0], pair)
            index += 1
        return list(found.values())

    def fingerprint(self) -> str:
        """Return a hash of the grammar, its words and the arguments."""
        arguments = f"{self._split} {self._num_pairs} {self._seed}"
        return hashlib.sha256(f"{grammar_hash()} {arguments}".encode()).hexdigest()


def make_pair(split: Split, index: int, seed: int) -> tuple[str, str]:
    """Return the first pair of the split in the stream of (seed, index)."""
    rng = random.Random(_hash_number(f"{split} {seed} {index}"))
    make = sentences.long_sentence if split == "long" else sentences.sentence
    while True:
        pair = say(
            make(rng), lambda source: split == "long" or split_of(source) == split
        )
        if pair is None:
            continue
        lengths = [len(text.split()) for text in pair]
        if (
            split == "long"
            and MAX_WORDS < min(lengths) <= max(lengths) <= MAX_WORDS_LONG
        ):
            return pair
        if split != "long" and max(lengths) <= MAX_WORDS:
            return pair


def say(sentence: Sentence, wanted: Callable[[str], bool]) -> tuple[str, str] | None:
    """Return the sentence in English and German, or None if the English is unwanted."""
    source = english.say_sentence(sentence)
    return (source, german.say_sentence(sentence)) if wanted(source) else None


def split_of(source: str) -> str:
    """Return the split of an English sentence within the limit of length."""
    return _HELD_OUT.get(_hash_number(source) % _NUM_DRAWERS, "train")


def _hash_number(text: str) -> int:
    """Return a 64-bit number that depends on the text alone, on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


@functools.cache
def grammar_hash() -> str:
    """Return a hash of every file that decides what the grammar says."""
    package = importlib.resources.files("transformer_jax.data.grammar")
    files = [*package.iterdir(), *(package / "lexicon").iterdir()]
    texts = {
        file.name: file.read_bytes()
        for file in files
        if file.name.endswith((".py", ".tsv"))
    }
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(name.encode() + b"\0" + texts[name] + b"\0")
    return digest.hexdigest()
