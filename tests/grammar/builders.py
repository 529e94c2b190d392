"""Short ways to write the structures of sentences in tests."""

from transformer_jax.grammar import lexicon
from transformer_jax.grammar.german_forms import Case
from transformer_jax.grammar.lexicon import noun_named, verb_named
from transformer_jax.grammar.phrases import name_of
from transformer_jax.grammar.structures import (
    THE,
    Clause,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
)

_, ACCUSATIVE, DATIVE = Case


def np(words, determiner=THE, attribute=None):
    """Build a noun phrase from "old teacher" or "old teacher+" (plural)."""
    *adjective, noun = words.rstrip("+").split()
    found = lexicon.adjectives_named(adjective[0])[0] if adjective else None
    return NounPhrase(
        noun_named(noun), determiner, words.endswith("+"), found, attribute
    )


def pp(english_word, german_word, phrase, case=DATIVE):
    return PrepositionalPhrase(english_word, german_word, case, phrase)


def adverb(words):
    (found,) = [a for a in lexicon.adverbs() if a.english == words]
    return found


def that(english_base):
    """Return the verb of that name that has a that-clause."""
    found = [v for v in lexicon.verbs() if v.pattern == "that"]
    return next(v for v in found if v.english.base == english_base)


def clause(subject, verb, tense="present", **parts):
    if isinstance(verb, str):
        is_noun = isinstance(subject, NounPhrase)
        verb = verb_named(verb, name_of(subject.noun) if is_noun else "Mann")
    return Clause(subject, verb, tense, **parts)


def be(subject, adjective, tense="present", degree=("", ""), **parts):
    (found,) = lexicon.adjectives_named(adjective)
    predicate = Predicate(degree, found)
    return Clause(subject, lexicon.BE, tense, predicate=predicate, **parts)


TEACHER, WOMAN, CHILD = np("teacher"), np("woman"), np("child")
MAN, DOG = np("man"), np("dog")
TOO, VERY = ("too", "zu"), ("very", "sehr")
IN_GARDEN = pp("in", "in", np("garden"))
TO_HOUSE = pp("to", "in", np("house"), ACCUSATIVE)
YESTERDAY, TODAY = adverb("yesterday"), adverb("today")
OFTEN = adverb("often")
