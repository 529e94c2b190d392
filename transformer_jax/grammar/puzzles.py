"""Sentences that have to be understood: what "it" means, which "bank" it is."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from transformer_jax.grammar import (
    clauses,
    clues,
    lexicon,
    modals,
    phrases,
    structures,
)
from transformer_jax.grammar.german_forms import Case
from transformer_jax.grammar.lexicon import Adjective, Noun, Verb
from transformer_jax.grammar.phrases import DEFINITE, ONLY_THE, name_of, pick
from transformer_jax.grammar.structures import (
    IT,
    Clause,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Pronoun,
    Sentence,
    Subordinate,
    Trace,
)

# Words for a person of either sex ("child") have no pronoun that German would share.
_MALE, _FEMALE, _NEUTER = range(3)
_PLAIN = phrases.DeterminerChoice(
    (structures.THE,) * 4 + (structures.THIS,),
    (structures.THE,),
    (structures.THE,) * 4 + (structures.THIS,),
)
_THIS_OR_A = _PLAIN._replace(singular=_PLAIN.singular + (structures.A,) * 2)


class Puzzle(NamedTuple):
    """A sentence with a word that has to be understood.

    Attributes:
      sentence: the sentence.
      answer: the German form of the word.
      rivals: German forms of what the English word could mean instead.
    """

    sentence: Sentence
    answer: str
    rivals: tuple[str, ...]


class Reference(NamedTuple):
    """A sentence whose pronoun means one of its two nouns.

    Attributes:
      sentence: the sentence.
      subject: the first noun.
      other: the second noun.
      meant: the one of them that the pronoun stands for.
    """

    sentence: Sentence
    subject: Noun
    other: Noun
    meant: Noun


def pronoun_for(noun: Noun) -> Pronoun:
    """Return "it" with the gender of the German noun, but he or she for a person."""
    if "person" in noun.classes:
        return structures.HE if noun.column == _MALE else structures.SHE
    return IT[noun.column]


def antecedent_puzzle(rng: random.Random) -> Puzzle:
    """Return a `reference`, whose adjective decides the German pronoun's gender."""
    sentence, subject, other, meant = reference(rng)
    pronoun = pronoun_for(meant)
    candidates = map(pronoun_for, (subject, other))
    rivals = {p.german[0] for p in candidates if p.english == pronoun.english}
    return Puzzle(
        sentence, pronoun.german[0], tuple(sorted(rivals - {pronoun.german[0]}))
    )


def reference(rng: random.Random) -> Reference:
    """Return "The animal didn't cross the street because it was too tired", or such.

    The adjective decides whether the pronoun means the subject or the object.
    """
    kind = pick(rng, clues.antecedents())
    subject, other = pick(rng, kind.subjects), pick(rng, kind.objects)
    is_affirmed = rng.random() < 0.3
    readings = list(_readings(kind, subject, other, is_affirmed))
    if not readings or not has_pronoun(subject):
        return reference(rng)
    meant, adjective = pick(rng, readings)
    verb = lexicon.verb_named(kind.verb, name_of(subject))
    # "They read" is past or present; "did not read" tells.
    tenses = (
        ("present", "past") if verb.shows_tense or not is_affirmed else ("present",)
    )
    tense = pick(rng, tenses)
    main = _antecedent_clause(rng, subject, verb, other, tense, is_affirmed)
    pronoun = pronoun_for(meant)
    predicate = Predicate(_degree(rng, adjective, is_affirmed), adjective)
    reason = Clause(pronoun, lexicon.BE, tense, predicate=predicate)
    sentence = Sentence(main._replace(adjunct=Subordinate("because", "weil", reason)))
    return Reference(sentence, subject, other, meant)


def has_pronoun(noun: Noun) -> bool:
    """Return whether English and German share the gender: not of "child", das Kind."""
    return "person" not in noun.classes or noun.column != _NEUTER


def _degree(
    rng: random.Random, adjective: Adjective, is_affirmed: bool
) -> tuple[str, str]:
    if not adjective.is_graded or (is_affirmed and rng.random() < 0.6):
        return "", ""
    return ("very", "sehr") if is_affirmed else ("too", "zu")


def _readings(
    kind: clues.Antecedent, subject: Noun, other: Noun, is_affirmed: bool
) -> Iterator[tuple[Noun, Adjective]]:
    """Yield each noun that the pronoun can mean, with an adjective that shows it."""
    for_subject, for_other = kind.clues[is_affirmed]
    fits_subject = set(phrases.predicates_for()[name_of(subject)])
    fits_other = set(phrases.predicates_for()[name_of(other)])
    for adjective in for_subject:
        if adjective in fits_subject:
            yield subject, adjective
    for adjective in for_other:
        if adjective in fits_other:
            yield other, adjective


def _antecedent_clause(
    rng: random.Random,
    subject: Noun,
    verb: Verb,
    other: Noun,
    tense: str,
    is_affirmed: bool,
) -> Clause:
    actor = phrases.noun_phrase(
        rng, subject, _PLAIN, adjective_share=0.0, plural_share=0.0
    )
    if rng.random() < 0.2:
        actor = phrases.described(rng, actor)
    thing = phrases.noun_phrase(
        rng, other, _PLAIN, adjective_share=0.0, plural_share=0.0
    )
    main = Clause(actor, verb, tense, is_negated=not is_affirmed)
    if verb.setting == "into":
        place = PrepositionalPhrase("into", "in", Case.ACCUSATIVE, thing)
        return main._replace(place=place)
    main = main._replace(direct=thing)
    if not is_affirmed and verb.aspect == "action" and rng.random() < 0.3:
        main = main._replace(modal=pick(rng, (modals.CAN, modals.WANT)))
    return main


# What one does with a thing first, and then.
_FIRST_STEPS = ("buy", "find", "steal", "see", "look for")
_NEXT_STEPS = (
    "eat,cook,drink,read,wear,wash,clean,carry,repair,draw,hide,sell,forget,lose,give,"
    "show,send,lend,bring,offer,open,close,turn on,turn off,feed,catch"
).split(",")


def object_pronoun_sentence(rng: random.Random) -> Sentence:
    """Return "The man found the lamp and washed it": the object again, as a pronoun."""
    tense = pick(rng, ("present", "past"))
    verb = lexicon.verb_named(pick(rng, _FIRST_STEPS))
    noun = pick(rng, verb.objects)
    next_steps = _next_steps(noun, tense)
    if not next_steps or "person" in noun.classes:
        return object_pronoun_sentence(rng)
    again = pick(rng, next_steps)
    people = lexicon.nouns_named("person")
    subject = phrases.subject_phrase(rng, people, DEFINITE, pair_share=0.0)
    thing = phrases.noun_phrase(
        rng, noun, phrases.SETTINGS, adjective_share=0.25, plural_share=0.0
    )
    first = Clause(subject, verb, tense, direct=thing)
    second = Clause(
        Trace(structures.person_of(subject)), again, tense, direct=IT[noun.column]
    )
    if again.pattern == "both":
        receiver = phrases.noun_phrase(rng, pick(rng, people), DEFINITE)
        if isinstance(subject, NounPhrase) and receiver.noun is subject.noun:
            return object_pronoun_sentence(rng)
        second = second._replace(indirect=receiver)
    return Sentence(first, conjunction=(" and", " und"), conjunct=second)


def two_steps(rng: random.Random) -> tuple[Sentence, Sentence]:
    """Return "The man found the lamp." and "The man washed the lamp.", in this order.

    Both name both; what one does first with a thing tells the order.
    """
    tense = pick(rng, ("present", "past"))
    verb = lexicon.verb_named(pick(rng, _FIRST_STEPS))
    noun = pick(rng, verb.objects)
    next_steps = [v for v in _next_steps(noun, tense) if v.pattern != "both"]
    if not next_steps or "person" in noun.classes:
        return two_steps(rng)
    people = lexicon.nouns_named("person")
    subject = phrases.subject_phrase(rng, people, DEFINITE, pair_share=0.0)
    thing = phrases.noun_phrase(
        rng, noun, ONLY_THE, adjective_share=0.0, plural_share=0.0
    )
    first, second = (
        Sentence(Clause(subject, step, tense, direct=thing))
        for step in (verb, pick(rng, next_steps))
    )
    return first, second


def _next_steps(noun: Noun, tense: str) -> list[Verb]:
    verbs = map(lexicon.verb_named, _NEXT_STEPS)
    return [v for v in verbs if noun in v.objects and clauses.usable(v, tense)]


def sense_puzzle(rng: random.Random) -> Puzzle:
    """Return "She left the bank because …": a word whose meaning another one tells."""
    sense = pick(rng, clues.senses())
    person = pick(rng, lexicon.nouns_named("person"))
    while not has_pronoun(person):
        person = pick(rng, lexicon.nouns_named("person"))
    subject = phrases.noun_phrase(rng, person, DEFINITE, plural_share=0.0)
    tense = pick(rng, ("present", "past"))
    thing = phrases.noun_phrase(
        rng, sense.noun, _THIS_OR_A, adjective_share=0.0, plural_share=0.2
    )
    verb = lexicon.verb_named(pick(rng, sense.verbs))
    main = Clause(subject, verb, tense, direct=thing)
    adjunct = _clue(rng, sense, verb, pronoun_for(person), tense)
    if adjunct.english == "because" and verb.aspect == "action":
        main = _with_time_or_wish(rng, main)
    if rng.random() < 0.25:
        # The clue first; then the noun has to come before its pronoun.
        first = adjunct._replace(clause=adjunct.clause._replace(subject=subject))
        main = main._replace(subject=pronoun_for(person), adjunct=first)
        sentence = Sentence(main, "adjunct")
    else:
        sentence = Sentence(main._replace(adjunct=adjunct))
    answer = sense.noun.german[thing.is_plural][Case.ACCUSATIVE]
    return Puzzle(sentence, answer, clues.forms_of_rivals(sense))


def _with_time_or_wish(rng: random.Random, main: Clause) -> Clause:
    draw = rng.random()
    if draw < 0.4:
        return main._replace(time=pick(rng, clauses.adverbs("time", main.tense)))
    return main._replace(modal=modals.WANT) if draw < 0.6 else main


def _clue(
    rng: random.Random, sense: clues.Sense, main: Verb, pronoun: Pronoun, tense: str
) -> Subordinate:
    """Return "because she wanted to cross the river", or the like."""
    name, noun = pick(rng, sense.clues)
    verb = lexicon.verb_named(name)
    thing = phrases.noun_phrase(
        rng, noun, ONLY_THE, adjective_share=0.15, plural_share=0.15
    )
    clause = Clause(pronoun, verb, tense, direct=thing)
    if verb.aspect == "action" and main.aspect != "event" and rng.random() < 0.7:
        clause = clause._replace(modal=pick(rng, (modals.WANT, modals.MUST)))
        return Subordinate("because", "weil", clause)
    return Subordinate("when", "als" if tense == "past" else "wenn", clause)
