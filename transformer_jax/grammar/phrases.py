"""Random noun phrases and places that make sense."""

import functools
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from transformer_jax.grammar import lexicon, structures
from transformer_jax.grammar.german_forms import Case
from transformer_jax.grammar.lexicon import Adjective, Noun
from transformer_jax.grammar.structures import (
    Determiner,
    NounPhrase,
    Pair,
    Phrase,
    PrepositionalPhrase,
)

T = TypeVar("T")

_s = structures
_POSSESSIVES = (_s.MY, _s.HIS, _s.HER, _s.OUR, _s.THEIR)
# A determiner is drawn from its list, so its share of the list is its probability.
SINGULAR: tuple[Determiner, ...] = (
    (_s.THE,) * 18
    + (_s.A,) * 12
    + (_s.THIS,) * 3
    + (_s.EVERY,) * 2
    + (_s.NO, *_POSSESSIVES)
)
PLURAL: tuple[Determiner, ...] = (
    (_s.THE,) * 12
    + (_s.BARE,) * 6
    + (_s.THIS,) * 3
    + (_s.TWO, _s.THREE, _s.FOUR, _s.MANY, _s.SOME, _s.ALL) * 2
    + (_s.NO, *_POSSESSIVES)
)
MASS = (_s.THE,) * 9 + (_s.BARE,) * 9 + (_s.THIS, _s.NO, *_POSSESSIVES)
# Beside "not", whose reach must be clear: no "all", "some", "no".
DEFINITE_SINGULAR = (_s.THE,) * 10 + (_s.THIS, *_POSSESSIVES)
DEFINITE_PLURAL = (_s.THE,) * 10 + (_s.THIS, *_POSSESSIVES)
NEGATABLE_SINGULAR = DEFINITE_SINGULAR + (_s.A,) * 12
NEGATABLE_PLURAL = DEFINITE_PLURAL + (_s.BARE,) * 10
NEGATABLE_MASS = DEFINITE_SINGULAR + (_s.BARE,) * 12


class DeterminerChoice(NamedTuple):
    """The determiners to draw from, for singular, plural and mass nouns."""

    singular: tuple[Determiner, ...]
    plural: tuple[Determiner, ...]
    mass: tuple[Determiner, ...]


ANY = DeterminerChoice(SINGULAR, PLURAL, MASS)
DEFINITE = DeterminerChoice(DEFINITE_SINGULAR, DEFINITE_PLURAL, DEFINITE_SINGULAR)
NEGATABLE = DeterminerChoice(NEGATABLE_SINGULAR, NEGATABLE_PLURAL, NEGATABLE_MASS)
ONLY_THE = DeterminerChoice((_s.THE,), (_s.THE,), (_s.THE,))

PERSON_PRONOUNS = (_s.I, _s.HE, _s.SHE, _s.WE, _s.THEY)
OBJECT_PRONOUNS = (_s.HE, _s.SHE, _s.WE, _s.THEY, _s.I)


def pick(rng: random.Random, items: Sequence[T]) -> T:
    """Draw one item; `random()` alone is the same in every version of Python."""
    return items[int(rng.random() * len(items))]


def name_of(noun: Noun) -> str:
    """Return the German singular, which names a noun uniquely."""
    return noun.german[0][0]


@functools.cache
def adjectives_for() -> dict[str, tuple[Adjective, ...]]:
    """Return the adjectives that go before each noun, by the noun's German name."""
    return _adjectives_by_noun(_classes)


@functools.cache
def predicates_for() -> dict[str, tuple[Adjective, ...]]:
    """Return the adjectives that can be said of each noun with "to be"."""
    return _adjectives_by_noun(_predicate_classes)


def _adjectives_by_noun(
    classes_of: Callable[[Noun], set[str]],
) -> dict[str, tuple[Adjective, ...]]:
    return {
        name_of(noun): tuple(
            adjective
            for adjective in lexicon.adjectives()
            if adjective.classes & classes_of(noun)
        )
        for noun in lexicon.nouns()
    }


def _classes(noun: Noun) -> set[str]:
    return {noun.english[0], *noun.classes}


def _predicate_classes(noun: Noun) -> set[str]:
    names = _classes(noun)
    return names | {f"predicate:{name}" for name in names}


def noun_phrase(
    rng: random.Random,
    noun: Noun,
    determiners: DeterminerChoice = ANY,
    *,
    adjective_share: float = 0.38,
    plural_share: float = 0.3,
) -> NounPhrase:
    """Return a random noun phrase without attribute around a noun."""
    is_plural = noun.has_plural and rng.random() < plural_share
    if is_plural:
        choice = determiners.plural
    else:
        choice = determiners.singular if noun.has_plural else determiners.mass
    determiner = pick(rng, choice)
    while determiner.is_possessive and not _can_be_owned(noun):
        determiner = pick(rng, choice)
    adjective = None
    if rng.random() < adjective_share:
        fitting = adjectives_for().get(name_of(noun))
        adjective = pick(rng, fitting) if fitting else None
    return NounPhrase(noun, determiner, is_plural, adjective)


def _can_be_owned(noun: Noun) -> bool:
    """Return whether "my" suits: not "my king"."""
    classes = noun.classes
    return "own" in classes or ("person" not in classes and "animal" not in classes)


def subject_phrase(
    rng: random.Random,
    nouns: Sequence[Noun],
    determiners: DeterminerChoice = ANY,
    *,
    pronoun_share: float = 0.15,
    pair_share: float = 0.06,
) -> Phrase:
    """Return a random subject: a noun phrase, a pronoun for a person, or a pair."""
    noun = pick(rng, nouns)
    is_person = "person" in noun.classes
    draw = rng.random()
    if is_person and draw < pronoun_share:
        return pick(rng, PERSON_PRONOUNS)
    phrase = noun_phrase(rng, noun, determiners)
    if draw > 1 - pair_share and is_person:
        other = noun_phrase(rng, pick(rng, nouns), DEFINITE)
        if "person" in other.noun.classes and other.noun != noun:
            plain = noun_phrase(
                rng, noun, DEFINITE, adjective_share=0.0, plural_share=0.0
            )
            return Pair(plain, other)
    return phrase


def setting_phrase(
    rng: random.Random,
    nouns: Sequence[Noun],
    *,
    setting: str,
    adjective_share: float = 0.15,
) -> PrepositionalPhrase:
    """Return a random place to be at ("at", "maybe"), to go "to", or to fit "into"."""
    noun = pick(rng, nouns)
    phrase = noun_phrase(
        rng, noun, SETTINGS, adjective_share=adjective_share, plural_share=0.0
    )
    if setting == "into":
        return PrepositionalPhrase("into", "in", Case.ACCUSATIVE, phrase)
    place = lexicon.places()[noun.english[0]]
    if setting != "to":
        return PrepositionalPhrase(place.english, place.german, Case.DATIVE, phrase)
    german = place.german_direction
    case = Case.DATIVE if german == "zu" else Case.ACCUSATIVE
    return PrepositionalPhrase("to", german, case, phrase)


SETTINGS = DeterminerChoice(
    (_s.THE,) * 8 + (_s.A,) * 3 + (_s.THIS, _s.OUR), (_s.THE,), (_s.THE,)
)


@functools.cache
def _described_by() -> dict[str, tuple[tuple[str, str, tuple[Noun, ...]], ...]]:
    """Return what can stand behind a noun of each class, with its prepositions."""
    landmarks = lexicon.nouns_named("landmark")
    beside = lexicon.nouns_named("landmark,street,bridge,river,park,lake")
    carried = lexicon.nouns_named(
        "hat,coat,jacket,bag,suitcase,dog,umbrella,guitar,violin"
    )
    on_surface = (("on", "auf", lexicon.nouns_named("surface")),)
    on_table = (("on", "auf", lexicon.nouns_named("table,shelf")),)
    around = lexicon.nouns_named("table,chair,bed,sofa,cupboard,box,armchair")
    under = (("under", "unter", around), ("next to", "neben", around))
    near = (("next to", "neben", beside), ("behind", "hinter", landmarks))
    in_front = (("in front of", "vor", landmarks),)
    return {
        "person": (("with", "mit", carried),) * 2 + near,
        "animal": near + (("under", "unter", lexicon.nouns_named("tree")),),
        "text": on_surface + under,
        "ware": on_surface + under,
        "container": on_surface + under,
        "vehicle": near + in_front,
        "building": near[1:] + near[:1],
        "food": on_table,
    }


def described(
    rng: random.Random, phrase: NounPhrase, determiners: DeterminerChoice = SETTINGS
) -> NounPhrase:
    """Add a prepositional phrase to a noun phrase, if one suits it."""
    for name, choices in _described_by().items():
        if name in phrase.noun.classes:
            english, german, nouns = pick(rng, choices)
            noun = pick(rng, nouns)
            if noun is phrase.noun or (english == "with" and phrase.is_plural):
                return phrase
            inner = noun_phrase(
                rng, noun, determiners, adjective_share=0.2, plural_share=0.0
            )
            attribute = PrepositionalPhrase(english, german, Case.DATIVE, inner)
            return phrase._replace(attribute=attribute)
    return phrase
