"""Pairs with a set distance: how far, how balanced, and in which split."""

import collections
import itertools

import pytest

from transformer_jax.grammar import distances, lexicon
from transformer_jax.grammar.distances import PRONOUNS, distant_pairs

DISTANCES = range(2, 41)
SIZES = {"train": 3 * 3 * 39, "validation": 3 * 39, "test": 2 * 3 * 39}
THINGS = {noun.english[0]: noun for noun in lexicon.nouns()}


@pytest.fixture(scope="module")
def pairs():
    return {
        split: list(distant_pairs(split, size, DISTANCES, seed=3))
        for split, size in SIZES.items()
    }


@pytest.fixture(scope="module")
def everything(pairs):
    return list(itertools.chain(*pairs.values()))


def thing_of(pair):
    """Return where the noun stands that the pronoun means, and the noun."""
    words = pair.source.rstrip(".").split()
    # "The aunt looked for the lamp …": subject, verb, then the thing.
    place = words.index("the") + 1
    return place, THINGS[words[place]]


def test_the_pronoun_stands_exactly_so_many_words_after_its_noun(everything):
    assert {pair.distance for pair in everything} == set(DISTANCES)
    for pair in everything:
        words = pair.source.split()
        place, thing = thing_of(pair)
        assert words.index("it") - place == pair.distance
        assert words.count("it") == 1
        assert words.count(thing.english[0]) == 1


def test_german_says_the_pronoun_of_the_noun(everything):
    for pair in everything:
        _, thing = thing_of(pair)
        assert thing.column == pair.gender
        article = ("den", "die", "das")[pair.gender]
        main, reason = pair.target.split(", weil ")
        assert f" {article} {thing.german[0][1]}" in main
        assert reason.split()[0] == PRONOUNS[pair.gender]
        assert pair.prefix == f"{main}, weil"


def test_every_distance_has_every_gender_equally_often(pairs):
    for split, size in SIZES.items():
        counts = collections.Counter((p.distance, p.gender) for p in pairs[split])
        assert set(counts.values()) == {size // (3 * 39)}
        assert len(counts) == 3 * 39


def test_no_other_word_tells_the_gender():
    """Guess by any one word but the thing, as it was right most often."""
    seen = collections.defaultdict(collections.Counter)
    right = collections.defaultdict(list)
    for pair in distant_pairs("train", 6_000, [9], seed=1):
        for word in other_words(pair):
            seen[word][pair.gender] += 1
    for pair in distant_pairs("test", 900, [9], seed=1):
        for word in other_words(pair):
            guess = max(seen[word], key=seen[word].get)
            right[word].append(guess == pair.gender)
    frequent = [told for told in right.values() if len(told) > 100]
    assert len(frequent) > 20
    assert max(sum(told) / len(told) for told in frequent) < 0.45


def other_words(pair):
    place, _ = thing_of(pair)
    words = pair.source.split()
    return {*words[:place], *words[place + 1 :]}


def test_no_sentence_comes_twice_whatever_the_split(everything):
    sources = {pair.source for pair in everything}
    assert len(sources) == len(everything)
    train = {pair.source for pair in distant_pairs("train", 3_000, [2, 3], seed=5)}
    held_out = {
        pair.source
        for split in ("validation", "test")
        for pair in distant_pairs(split, 900, [2, 3], seed=7)
    }
    assert len(train) == 3_000 and len(held_out) == 1_800
    assert not train & held_out


def test_pairs_follow_from_the_arguments(pairs):
    again = list(distant_pairs("test", 7, DISTANCES, seed=3))
    assert again == pairs["test"][:7]
    assert list(distant_pairs("test", 7, DISTANCES, seed=4)) != again


def test_a_split_without_enough_sentences_is_an_error(monkeypatch):
    monkeypatch.setattr(distances, "_MAX_TRIES", 20)
    with pytest.raises(ValueError, match="test split .* distance 2 after"):
        list(distances.distant_pairs("test", 20_000, [2], seed=0))
