"""Sentences in which a word is decided by another one, a set number of words away.

"The queen bought the lamp behind the church yesterday because it was cheap": whether
German says er, sie or es for "it" depends on the lamp alone. The distance is counted in
English: "it" is the word number `distance` after "lamp". All other words are drawn
without regard to the lamp, and the places between have genders of their own, so that
whoever does not see the lamp is right once in three times.
"""

import functools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from transformer_jax.grammar import clauses, english, german, lexicon, phrases
from transformer_jax.grammar.german_forms import Case
from transformer_jax.grammar.lexicon import Adjective, Adverb, Noun, Verb
from transformer_jax.grammar.phrases import name_of, pick
from transformer_jax.grammar.puzzles import has_pronoun
from transformer_jax.grammar.splits import Split, hash_number, split_of
from transformer_jax.grammar.structures import (
    IT,
    THE,
    Clause,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
    Subordinate,
)

PRONOUNS = tuple(pronoun.german[Case.NOMINATIVE] for pronoun in IT)
# With "because" alone between the two words.
LEAST_DISTANCE = 2

_PREPOSITIONS = (("behind", "hinter"), ("next to", "neben"), ("in front of", "vor"))
_SHORTEST_PLACE = 3
# Draws of one sentence before giving up: its split has hardly any others.
_MAX_TRIES = 1_000


class DistantPair(NamedTuple):
    """A sentence pair, and what decides about one of its words.

    Attributes:
      source: the English sentence.
      target: its translation.
      distance: in words of the source, from the noun to the pronoun.
      gender: of the German noun, and so which of `PRONOUNS` is right.
    """

    source: str
    target: str
    distance: int
    gender: int

    @property
    def prefix(self) -> str:
        """What stands before the pronoun in the translation."""
        return self.target[: self.target.rindex(f" {PRONOUNS[self.gender]} ")]


def distant_pairs(
    split: Split, num_pairs: int, distances: Sequence[int], seed: int
) -> Iterator[DistantPair]:
    """Yield distinct pairs of a split; no sentence is in two splits.

    Distances take turns, and genders do so after every round of them.

    Args:
      split: "train", "validation" or "test".
      num_pairs: how many.
      distances: each at least `LEAST_DISTANCE`.
      seed: another seed, other sentences.

    Raises:
      ValueError: if the split has too few sentences of a distance.
    """
    rng = random.Random(hash_number(f"distances {split} {seed}"))
    seen: set[str] = set()
    for index in range(num_pairs):
        turn, place = divmod(index, len(distances))
        distance, gender = distances[place], turn % len(PRONOUNS)
        for _ in range(_MAX_TRIES):
            sentence = _sentence(rng, distance, gender)
            source = english.say_sentence(sentence)
            if split_of(source) == split and source not in seen:
                break
        else:
            raise ValueError(
                f"the {split} split has no {num_pairs} pairs: it runs out of distance "
                f"{distance} after {index}"
            )
        seen.add(source)
        yield DistantPair(source, german.say_sentence(sentence), distance, gender)


def _sentence(rng: random.Random, distance: int, gender: int) -> Sentence:
    adjective = pick(rng, _adjectives())
    degree = pick(rng, clauses.DEGREES) if adjective.is_graded else ("", "")
    predicate = Predicate(degree, adjective)
    reason = Clause(IT[gender], lexicon.BE, "past", predicate=predicate)
    num_between = distance - LEAST_DISTANCE
    times: dict[Adverb | None, int] = {None: num_between}
    for adverb in clauses.adverbs("time", "past"):
        times[adverb] = num_between - _num_words(adverb.english)
    time = pick(rng, [time for time, rest in times.items() if _fits(rest)])
    main = Clause(
        NounPhrase(pick(rng, _people()), THE),
        pick(rng, _verbs()),
        "past",
        direct=NounPhrase(pick(rng, _things()[gender]), THE),
        time=time,
        place=_places(rng, times[time]),
        adjunct=Subordinate("because", "weil", reason),
    )
    return Sentence(main)


def _places(
    rng: random.Random, num_words: int, last: Noun | None = None
) -> PrepositionalPhrase | None:
    """Return "behind the church next to the old tower …": so many words."""
    if not num_words:
        return None
    openings = {
        (words, is_described): num_words - _num_words(words[0]) - 2 - is_described
        for words in _PREPOSITIONS
        for is_described in (False, True)
    }
    opening = pick(rng, [opening for opening, rest in openings.items() if _fits(rest)])
    words, is_described = opening
    noun = pick(rng, [n for n in lexicon.nouns_named("landmark") if n is not last])
    phrase = NounPhrase(noun, THE, attribute=_places(rng, openings[opening], noun))
    if is_described:
        adjectives = phrases.adjectives_for()[name_of(noun)]
        phrase = phrase._replace(adjective=pick(rng, adjectives))
    return PrepositionalPhrase(*words, Case.DATIVE, phrase)


def _fits(num_words: int) -> bool:
    """Return whether places can be made of so many words."""
    return num_words == 0 or num_words >= _SHORTEST_PLACE


def _num_words(text: str) -> int:
    return len(text.split())


@functools.cache
def _people() -> tuple[Noun, ...]:
    """Return those whom "it" cannot mean."""
    return tuple(filter(has_pronoun, lexicon.nouns_named("person")))


@functools.cache
def _things() -> tuple[tuple[Noun, ...], ...]:
    """Return what "it" can mean, by gender."""
    nouns = lexicon.nouns_named("furniture,container,ware,instrument")
    genders = range(len(PRONOUNS))
    return tuple(tuple(n for n in nouns if n.column == gender) for gender in genders)


@functools.cache
def _verbs() -> tuple[Verb, ...]:
    """Return those that suit all things, and so tell nothing about one."""
    things = {thing for things in _things() for thing in things}
    with_object = [verb for verb in clauses.plain_verbs() if verb.pattern == "acc"]
    return tuple(verb for verb in with_object if things.issubset(verb.objects))


@functools.cache
def _adjectives() -> tuple[Adjective, ...]:
    """Return those that suit all things, likewise."""
    names = [name_of(thing) for things in _things() for thing in things]
    suitable = [phrases.predicates_for()[name] for name in names]
    return tuple(a for a in suitable[0] if all(a in some for some in suitable))
