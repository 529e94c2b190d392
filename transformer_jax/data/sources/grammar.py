"""The built-in corpus: English sentences and their German translations, made up."""

import functools
import hashlib
import importlib.resources
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from transformer_jax.data.grammar.splits import Split, make_pair
from transformer_jax.errors import UserError


class GrammarPairs:
    """A random-access source of sentence pairs, the same for the same arguments.

    Training pairs may repeat, rarely; the pairs of the other splits are distinct, and
    made all at once when the first is asked for.

    Args:
      split: "train", "validation", "test" or "long".
      num_pairs: how many pairs.
      seed: another seed, other sentences (never those of another split).
    """

    drops: Mapping[str, int] = {}

    def __init__(self, split: Split, num_pairs: int, seed: int = 0):
        if split not in get_args(Split):
            names = ", ".join(get_args(Split))
            raise ValueError(f"the grammar has no split {split!r}; it has {names}")
        if num_pairs < 1:
            raise UserError(
                f"The grammar was asked for {num_pairs} pairs of its {split} split. "
                "Ask for 1 or more."
            )
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

    def gather(self, indices: Sequence[int]) -> list[tuple[str, str]]:
        """Return several pairs, in the given order."""
        return [self[index] for index in indices]

    def all_pairs(self) -> Iterator[tuple[str, str]]:
        """Yield every pair in order; the grammar drops none."""
        return (self[index] for index in range(self._num_pairs))

    def fingerprint(self) -> str:
        """Return a hash of the grammar, its words and the arguments."""
        arguments = f"{self._split} {self._num_pairs} {self._seed}"
        return hashlib.sha256(f"{grammar_hash()} {arguments}".encode()).hexdigest()

    @functools.cached_property
    def _distinct_pairs(self) -> list[tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        index = 0
        while len(found) < self._num_pairs:
            pair = make_pair(self._split, index, self._seed)
            found.setdefault(pair[0], pair)
            index += 1
        return list(found.values())


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
