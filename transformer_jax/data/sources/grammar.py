"""The built-in corpus: English sentences and their German translations, made up."""

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from transformer_jax.data.text_source import OneSide, OpenRequest, TextSource
from transformer_jax.errors import UserError
from transformer_jax.fields import fixed
from transformer_jax.grammar import lexicon
from transformer_jax.grammar.splits import Split, make_pair

_LANGUAGES = ("en", "de")


@dataclasses.dataclass(frozen=True)
class GrammarSettings:
    """How much of the built-in corpus to make."""

    num_train_pairs: int = fixed(100_000, "pairs of the training split", least=1)
    num_validation_pairs: int = fixed(500, "pairs of the validation split", least=1)
    num_test_pairs: int = fixed(
        1_000, "pairs of the test split, and of the one with long sentences", least=1
    )


def check_grammar(settings: GrammarSettings, languages: Sequence[str]) -> None:
    """Do `check_languages`; the sizes need no check.

    Raises:
      UserError: if the grammar does not speak the language.
    """
    check_languages(languages)


def check_languages(languages: Sequence[str]) -> None:
    """Make sure that the grammar speaks the language of single sentences.

    Raises:
      UserError: if it is neither English nor German.
    """
    if len(languages) == 1 and languages[0] not in _LANGUAGES:
        raise UserError(
            f"source_language={languages[0]!r}, but the grammar speaks "
            f"{' and '.join(_LANGUAGES)}."
        )


def open_grammar(
    settings: GrammarSettings, request: OpenRequest
) -> dict[str, TextSource]:
    """Return the built-in corpus's four splits, or one language of each.

    Raises:
      UserError: if one language is asked for, and it is neither English nor German.
    """
    sizes: dict[Split, int] = {
        "train": settings.num_train_pairs,
        "validation": settings.num_validation_pairs,
        "test": settings.num_test_pairs,
        "long": settings.num_test_pairs,
    }
    splits: dict[str, TextSource] = {
        split: GrammarPairs(split, num_pairs, request.seed)
        for split, num_pairs in sizes.items()
    }
    return in_languages(splits, request.languages)


def in_languages(
    splits: dict[str, TextSource], languages: Sequence[str]
) -> dict[str, TextSource]:
    """Return splits of pairs as they are, or one language of each.

    Raises:
      UserError: if one language is asked for, and it is neither English nor German.
    """
    if len(languages) == 2:
        return splits
    check_languages(languages)
    side = _LANGUAGES.index(languages[0])
    return {split: OneSide(pairs, side) for split, pairs in splits.items()}


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

    def all_texts(self) -> Iterator[tuple[str, str]]:
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


# Pairs that are looked at to tell what the grammar says, of each split.
_SAMPLE: Mapping[Split, int] = {
    "train": 6000,
    "validation": 100,
    "test": 100,
    "long": 4000,
}
_SAMPLE_SEEDS = 3

# A content hash, and what stands for it in fingerprints. Runs used to write down a hash
# of the grammar's files; they go on for as long as the grammar says what it said then.
_KNOWN = {
    "7ad86bd05e676164cc6500a091a91aef7c5d7f49de7f4e8d4fbbc6a4e0d67b5c": (
        "514a4fe8082c7cae2d57fd3c827456834f0f3000f1fd3c475634a63d56a5758e"
    ),
}


@functools.cache
def grammar_hash() -> str:
    """Return a hash of what the grammar says, in whatever files it stands."""
    content = content_hash()
    return _KNOWN.get(content, content)


def content_hash() -> str:
    """Hash the words of the grammar, row by row, and a sample of its pairs.

    The rows show a change of a rare word, the pairs one of a rule. Phenomena are made
    for tests alone and leave the hash as it is.
    """
    digest = hashlib.sha256()
    for table in lexicon.TABLES:
        for cells in lexicon.rows(table):
            digest.update("\t".join(cells).encode() + b"\n")
        digest.update(b"\n")
    for split, num_pairs in _SAMPLE.items():
        for index in range(num_pairs):
            pair = make_pair(split, index, index % _SAMPLE_SEEDS)
            digest.update("\t".join(pair).encode() + b"\n")
    return digest.hexdigest()
