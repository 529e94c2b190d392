"""Sentences that have to be understood: what "it" means, which "bank" it is."""

import random
from collections.abc import Iterator

from transformer_jax.data.grammar import clauses, lexicon, phrases, structures
from transformer_jax.data.grammar.german_forms import Case
from transformer_jax.data.grammar.lexicon import Antecedent, Noun, Verb
from transformer_jax.data.grammar.phrases import DEFINITE, ONLY_THE, name_of, pick
from transformer_jax.data.grammar.structures import (
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


def pronoun_for(noun: Noun) -> Pronoun:
    """Return "it" with the gender of the German noun, but he or she for a person."""
    if "person" in noun.classes:
        return structures.HE if noun.column == _MALE else structures.SHE
    return IT[noun.column]


def antecedent_sentence(rng: random.Random, distance_share: float = 0.2) -> Sentence:
    """Return "The animal didn't cross the street because it was too tired", or such.

    The adjective decides whether the pronoun means the subject or the object, and with
    it the German gender.
    """
    kind = pick(rng, lexicon.antecedents())
    subject = pick(rng, kind.subjects)
    while "person" in subject.classes and subject.column == _NEUTER:
        subject = pick(rng, kind.subjects)
    other = pick(rng, kind.objects)
    is_affirmed = rng.random() < 0.3
    choices = list(_readings(kind, subject, other, is_affirmed))
    if not choices:
        return antecedent_sentence(rng, distance_share)
    meant, adjective = pick(rng, choices)
    degree = ("", "")
    if adjective.is_graded:
        degree = ("very", "sehr") if is_affirmed else ("too", "zu")
        if is_affirmed and rng.random() < 0.6:
            degree = ("", "")
    tense = pick(rng, ("present", "past"))
    main = _antecedent_clause(rng, kind, subject, other, tense, is_affirmed)
    if rng.random() < distance_share and type(main.subject) is NounPhrase:
        main = main._replace(subject=phrases.described(rng, main.subject))
    reason = Clause(
        pronoun_for(meant), lexicon.BE, tense, predicate=Predicate(degree, adjective)
    )
    return Sentence(main._replace(adjunct=Subordinate("because", "weil", reason)))


def _readings(
    kind: Antecedent, subject: Noun, other: Noun, is_affirmed: bool
) -> Iterator[tuple[Noun, lexicon.Adjective]]:
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
    kind: Antecedent,
    subject: Noun,
    other: Noun,
    tense: str,
    is_affirmed: bool,
) -> Clause:
    verb = lexicon.verb_named(kind.verb, name_of(subject))
    if tense == "past" and not verb.shows_tense and is_affirmed:
        tense = "present"
    thing = phrases.noun_phrase(
        rng, other, _PLAIN, adjective_share=0.0, plural_share=0.0
    )
    main = Clause(
        phrases.noun_phrase(
            rng, subject, _PLAIN, adjective_share=0.0, plural_share=0.0
        ),
        verb,
        tense,
        is_negated=not is_affirmed,
    )
    if verb.setting == "into":
        place = PrepositionalPhrase("into", "in", Case.ACCUSATIVE, thing)
        return main._replace(place=place)
    main = main._replace(direct=thing)
    if not is_affirmed and verb.aspect == "action" and rng.random() < 0.3:
        main = main._replace(modal=pick(rng, (clauses.CAN, clauses.WANT)))
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
    verb, noun, again = None, None, None
    while again is None:
        verb = lexicon.verb_named(pick(rng, _FIRST_STEPS))
        noun = pick(rng, verb.objects)
        nexts = _next_steps(noun, tense)
        if nexts and "person" not in noun.classes:
            again = pick(rng, nexts)
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
        if type(subject) is NounPhrase and receiver.noun is subject.noun:
            return object_pronoun_sentence(rng)
        second = second._replace(indirect=receiver)
    return Sentence(first, conjunction=(" and", " und"), conjunct=second)


def _next_steps(noun: Noun, tense: str) -> list[Verb]:
    verbs = map(lexicon.verb_named, _NEXT_STEPS)
    return [v for v in verbs if noun in v.objects and clauses.usable(v, tense)]


def sense_sentence(rng: random.Random) -> Sentence:
    """Return "She left the bank because …": a word whose meaning another one tells."""
    sense = pick(rng, lexicon.senses())
    people = lexicon.nouns_named("person")
    person = pick(rng, people)
    while person.column == _NEUTER:
        person = pick(rng, people)
    subject = phrases.noun_phrase(rng, person, DEFINITE, plural_share=0.0)
    pronoun = pronoun_for(person)
    tense = pick(rng, ("present", "past"))
    thing = phrases.noun_phrase(
        rng, sense.noun, _THIS_OR_A, adjective_share=0.0, plural_share=0.2
    )
    verb = lexicon.verb_named(pick(rng, sense.verbs))
    main = Clause(subject, verb, tense, direct=thing)
    draw = rng.random()
    if draw < 0.25:
        main = main._replace(time=pick(rng, clauses.adverbs("time", tense)))
    elif draw < 0.35 and verb.aspect == "action":
        main = main._replace(modal=clauses.WANT)
    clue_name, clue_noun = pick(rng, sense.clues)
    clue_verb = lexicon.verb_named(clue_name)
    clue_object = phrases.noun_phrase(
        rng, clue_noun, ONLY_THE, adjective_share=0.15, plural_share=0.15
    )
    clue = Clause(pronoun, clue_verb, tense, direct=clue_object)
    has_purpose = clue_verb.aspect == "action" and verb.aspect != "event"
    if has_purpose and rng.random() < 0.7:
        clue = clue._replace(modal=pick(rng, (clauses.WANT, clauses.MUST)))
        words = ("because", "weil")
    else:
        words = ("when", "als" if tense == "past" else "wenn")
        main = main._replace(time=None)
    if not clauses.usable(clue_verb, tense):
        return sense_sentence(rng)
    main = main._replace(adjunct=Subordinate(*words, clue))
    if rng.random() < 0.25:
        # The clue first; then the noun has to come before its pronoun.
        clue = clue._replace(subject=subject)
        main = main._replace(subject=pronoun, adjunct=Subordinate(*words, clue))
        return Sentence(main, "adjunct")
    return Sentence(main)


MAKERS = (antecedent_sentence, object_pronoun_sentence, sense_sentence)
