"""The corpus as a whole: splits, one German for each English sentence."""

import random
import re

import pytest

from transformer_jax.grammar import english, german, sentences
from transformer_jax.grammar.splits import (
    MAX_WORDS,
    MAX_WORDS_LONG,
    make_pair,
    split_of,
)

SIZES = {"train": 3000, "validation": 200, "test": 300, "long": 100}


@pytest.fixture(scope="module")
def pairs():
    return {
        split: [make_pair(split, index, seed=3) for index in range(size)]
        for split, size in SIZES.items()
    }


def test_no_english_sentence_is_in_two_splits(pairs):
    for split in ("train", "validation", "test"):
        assert {split_of(source) for source, _ in pairs[split]} == {split}
    sources = [{source for source, _ in pairs[split]} for split in SIZES]
    assert len(set.union(*sources)) == sum(map(len, sources))


def test_long_sentences_are_longer_than_any_in_training(pairs):
    for split in SIZES:
        for pair in pairs[split]:
            lengths = [len(text.split()) for text in pair]
            if split == "long":
                assert MAX_WORDS < min(lengths) and max(lengths) <= MAX_WORDS_LONG
            else:
                assert max(lengths) <= MAX_WORDS


def test_sentences_are_of_moderate_length(pairs):
    lengths = [len(target.split()) for _, target in pairs["train"]]
    assert 9 < sum(lengths) / len(lengths) < 12


def test_an_english_sentence_has_one_german_translation():
    rng = random.Random(5)
    seen = {}
    for _ in range(30_000):
        sentence = sentences.sentence(rng)
        target = german.say_sentence(sentence)
        assert seen.setdefault(english.say_sentence(sentence), target) == target


def test_punctuation_and_capitals_are_in_place(pairs):
    for group in pairs.values():
        for text in (text for pair in group for text in pair):
            assert re.fullmatch(r"[A-ZÄÖÜ][\w']*(,? [\w']+)*[.?]", text), text


def test_contractions_and_elisions_are_made(pairs):
    targets = " ".join(target for group in pairs.values() for _, target in group)
    for melted in ("im", "ins", "am", "zum", "zur"):
        assert f" {melted} " in targets
    # Only a relative clause keeps the article whole.
    assert not re.search(r"\b(in dem|an dem|zu dem|zu der) \w+[^\w,]", targets)


def test_subordinate_clauses_stand_between_commas(pairs):
    for _, target in pairs["train"]:
        assert not re.search(r"[^,] (weil|obwohl|dass|während|als) ", target), target


def words_of(pairs):
    return [word.strip(".,?").lower() for p in pairs for t in p for word in t.split()]


def test_the_words_of_the_test_split_are_seen_in_training(pairs):
    seen = set(words_of(pairs["train"]))
    held_out = words_of(pairs["test"])
    assert sum(word in seen for word in held_out) / len(held_out) > 0.98
