"""Random clauses: a verb, and around it what suits the verb."""

import functools
import random
from collections.abc import Sequence
from typing import NamedTuple

from transformer_jax.grammar import lexicon, phrases, structures
from transformer_jax.grammar.lexicon import Adverb, Noun, Verb
from transformer_jax.grammar.modals import MODALS, SHOULD
from transformer_jax.grammar.phrases import name_of, pick
from transformer_jax.grammar.structures import (
    FIRST,
    PLURAL,
    THIRD,
    Clause,
    NounPhrase,
    Phrase,
    Predicate,
    PrepositionalPhrase,
    Pronoun,
    Relative,
    Subordinate,
    Trace,
    is_indefinite,
    person_of,
)

DEGREES = (("", ""),) * 5 + (("very", "sehr"),) * 3 + (("too", "zu"),)
TENSES = ("present",) * 5 + ("past",) * 6 + ("perfect",) * 4 + ("future",) * 2


class ClauseStyle(NamedTuple):
    """How often a clause has each optional part."""

    modal: float = 0.15
    negation: float = 0.14
    copula: float = 0.1
    time: float = 0.45
    frequency: float = 0.15
    manner: float = 0.25
    setting: float = 0.5
    description: float = 0.2
    relative: float = 0.16
    pronoun: float = 0.15


FULL = ClauseStyle()
# Inside another clause: less of everything.
SLIM = ClauseStyle(
    time=0.15, frequency=0.08, description=0.06, relative=0.0, setting=0.3
)
# Inside a relative clause: the bare minimum.
BARE = ClauseStyle(
    modal=0.1,
    negation=0.08,
    copula=0.15,
    time=0.06,
    frequency=0.0,
    manner=0.0,
    setting=0.1,
    description=0.0,
    relative=0.0,
    pronoun=0.2,
)


@functools.cache
def plain_verbs() -> tuple[Verb, ...]:
    """Return the verbs that need no clause as object."""
    return tuple(verb for verb in lexicon.verbs() if verb.pattern != "that")


@functools.cache
def reporting_verbs() -> tuple[Verb, ...]:
    """Return the verbs with a that-clause."""
    return tuple(verb for verb in lexicon.verbs() if verb.pattern == "that")


@functools.cache
def verbs_with_subject() -> dict[str, tuple[Verb, ...]]:
    """Return the verbs that a noun can be the subject of, by its German name."""
    return _by_noun("subjects")


@functools.cache
def verbs_with_object() -> dict[str, tuple[Verb, ...]]:
    """Return the verbs that a noun can be the direct object of, by its German name."""
    return _by_noun("objects")


def _by_noun(role: str) -> dict[str, tuple[Verb, ...]]:
    found: dict[str, list[Verb]] = {name_of(noun): [] for noun in lexicon.nouns()}
    for verb in plain_verbs():
        for noun in getattr(verb, role):
            found[name_of(noun)].append(verb)
    return {name: tuple(verbs) for name, verbs in found.items()}


@functools.cache
def adverbs(kind: str, tense: str) -> tuple[Adverb, ...]:
    """Return the adverbials of a kind that go with a tense."""
    return tuple(a for a in lexicon.adverbs() if a.kind == kind and tense in a.tenses)


@functools.cache
def _manners() -> dict[str, Adverb]:
    return {a.english: a for a in lexicon.adverbs() if a.kind == "manner"}


@functools.cache
def _people() -> tuple[Noun, ...]:
    return lexicon.nouns_named("person")


@functools.cache
def _outdoors() -> tuple[Noun, ...]:
    return lexicon.nouns_named("outdoors,field,meadow,tree,lake")


def usable(verb: Verb, tense: str) -> bool:
    """Return whether a verb suits a tense.

    A past that cannot be heard in English does not ("they read"), nor do the perfect
    and the future of a state ("will belong").
    """
    if tense == "past":
        return verb.shows_tense
    return tense == "present" or verb.aspect != "state"


def clause(
    rng: random.Random, style: ClauseStyle = FULL, tense: str | None = None
) -> Clause:
    """Return a random clause."""
    tense = tense or pick(rng, TENSES)
    if rng.random() < style.copula and tense in ("present", "past"):
        return _copula_clause(rng, style, tense)
    verb = pick(rng, plain_verbs())
    while not usable(verb, tense):
        verb = pick(rng, plain_verbs())
    is_negated = rng.random() < style.negation
    determiners = phrases.DEFINITE if is_negated else phrases.ANY
    subject = phrases.subject_phrase(
        rng, verb.subjects, determiners, pronoun_share=style.pronoun
    )
    if isinstance(subject, NounPhrase):
        subject = _adorned(rng, subject, style, tense, verb)
    return filled_clause(rng, subject, verb, tense, style, is_negated=is_negated)


def filled_clause(
    rng: random.Random,
    subject: Phrase,
    verb: Verb,
    tense: str,
    style: ClauseStyle,
    *,
    is_negated: bool = False,
    without: str = "",
    subject_noun: Noun | None = None,
) -> Clause:
    """Fill everything around a subject and a verb at random.

    Args:
      rng: source of randomness.
      subject: the subject, perhaps a trace.
      verb: the verb.
      tense: its tense.
      style: how often optional parts appear.
      is_negated: whether to say "not".
      without: the role that a question or relative word takes: "direct", "indirect",
        "place" or "time".
      subject_noun: what a trace stands for.
    """
    modal = None
    has_modal = verb.aspect == "action" and tense in ("present", "past")
    if has_modal and rng.random() < style.modal:
        modal = pick(rng, MODALS[:4] if tense == "past" else MODALS)
    direct = indirect = place = manner = frequency = time = None
    if verb.pattern == "both" and without != "indirect":
        indirect = phrases.subject_phrase(
            rng, _people(), phrases.DEFINITE, pronoun_share=0.2, pair_share=0.0
        )
        indirect = other_than(rng, indirect, subject)
    if verb.objects and without != "direct":
        direct = _object(rng, verb, subject, style, tense, is_negated)
    if without != "place":
        noun = subject.noun if isinstance(subject, NounPhrase) else subject_noun
        place = _setting(rng, verb, noun, style)
    negates_object = is_negated and is_indefinite(direct)
    if verb.manner and not negates_object and rng.random() < style.manner:
        manner = _manners()[verb.manner]
    if without != "time" and rng.random() < style.time and modal is not SHOULD:
        time = pick(rng, adverbs("time", tense))
        if verb.aspect == "event" and time.english.startswith("every"):
            time = None
    elif rng.random() < style.frequency and not is_negated and modal is None:
        frequency = pick(rng, adverbs("frequency", tense))
    if _has_no(subject) or _has_no(direct):
        frequency = None
    return Clause(
        subject,
        verb,
        tense,
        modal,
        is_negated,
        indirect,
        direct,
        None,
        time,
        frequency,
        manner,
        place,
    )


def _has_no(phrase: Phrase | None) -> bool:
    return isinstance(phrase, NounPhrase) and phrase.determiner is structures.NO


def other_than(rng: random.Random, phrase: Phrase, subject: Phrase) -> Phrase:
    """Return the phrase, or another person if it would mean the subject itself."""
    if isinstance(phrase, Pronoun):
        clash = phrase is subject or {person_of(phrase), person_of(subject)} == {
            FIRST,
            PLURAL,
        }
        if clash or isinstance(subject, Pronoun):
            return phrases.noun_phrase(rng, pick(rng, _people()), phrases.DEFINITE)
    elif isinstance(phrase, NounPhrase) and isinstance(subject, NounPhrase):
        if phrase.noun is subject.noun:
            return phrases.PERSON_PRONOUNS[4]
    return phrase


def _object(
    rng: random.Random,
    verb: Verb,
    subject: Phrase,
    style: ClauseStyle,
    tense: str,
    is_negated: bool,
) -> Phrase:
    noun = pick(rng, verb.objects)
    while isinstance(subject, NounPhrase) and noun is subject.noun:
        noun = pick(rng, verb.objects)
    if "person" in noun.classes and verb.pattern != "both":
        if rng.random() < style.pronoun:
            return other_than(rng, pick(rng, phrases.OBJECT_PRONOUNS), subject)
    determiners = phrases.NEGATABLE if is_negated else phrases.ANY
    phrase = phrases.noun_phrase(rng, noun, determiners)
    if phrase.determiner is structures.NO and _has_no(subject):
        phrase = phrase._replace(determiner=structures.THE)
    # A long object between a verb and its prefix, or before "nicht", sounds clumsy.
    if is_negated or (verb.german.prefix and tense in ("present", "past")):
        return phrase
    return _adorned(rng, phrase, style, tense, verb)


def _setting(
    rng: random.Random, verb: Verb, noun: Noun | None, style: ClauseStyle
) -> PrepositionalPhrase | None:
    if verb.setting == "none":
        return None
    if verb.setting == "maybe" and rng.random() > style.setting:
        return None
    nouns = verb.places
    if noun is not None and "animal" in noun.classes:
        nouns = _outdoors()
    return phrases.setting_phrase(rng, nouns, setting=verb.setting)


def _copula_clause(rng: random.Random, style: ClauseStyle, tense: str) -> Clause:
    noun = pick(rng, lexicon.nouns())
    while not phrases.predicates_for()[name_of(noun)]:
        noun = pick(rng, lexicon.nouns())
    is_negated = rng.random() < style.negation
    determiners = phrases.DEFINITE if is_negated else phrases.ANY
    phrase = phrases.noun_phrase(rng, noun, determiners, adjective_share=0.0)
    adjective = pick(rng, phrases.predicates_for()[name_of(noun)])
    phrase = _adorned(rng, phrase, style, tense, lexicon.BE)
    degree = pick(rng, DEGREES) if adjective.is_graded else ("", "")
    predicate = Predicate(degree, adjective)
    return Clause(phrase, lexicon.BE, tense, None, is_negated, predicate=predicate)


def _adorned(
    rng: random.Random, phrase: NounPhrase, style: ClauseStyle, tense: str, verb: Verb
) -> NounPhrase:
    """Describe a noun phrase by a prepositional phrase or a relative clause, or not."""
    draw = rng.random()
    if draw < style.description:
        return phrases.described(rng, phrase)
    if draw < style.description + style.relative:
        return with_relative(
            rng, phrase, "past" if tense == "past" else "present", verb
        )
    return phrase


def with_relative(
    rng: random.Random,
    phrase: NounPhrase,
    tense: str,
    avoid: Verb,
    style: ClauseStyle = BARE,
) -> NounPhrase:
    """Add a relative clause whose pronoun is its subject or its direct object."""
    if phrase.determiner in (structures.NO, structures.EVERY):
        phrase = phrase._replace(determiner=structures.THE)
    noun, name = phrase.noun, name_of(phrase.noun)
    as_subject = verbs_with_subject()[name]
    as_object = verbs_with_object()[name]
    if as_object and (not as_subject or rng.random() < 0.5):
        verb = _tense_verb(rng, as_object, tense, avoid)
        subject = phrases.subject_phrase(
            rng, verb.subjects, phrases.DEFINITE, pronoun_share=0.3, pair_share=0.0
        )
        if isinstance(subject, NounPhrase) and subject.noun is noun:
            subject = phrases.PERSON_PRONOUNS[0]
        inner = filled_clause(rng, subject, verb, tense, style, without="direct")
        return phrase._replace(attribute=Relative("direct", inner))
    if not as_subject:
        return phrase
    verb = _tense_verb(rng, as_subject, tense, avoid)
    trace = Trace(PLURAL if phrase.is_plural else THIRD)
    inner = filled_clause(rng, trace, verb, tense, style, subject_noun=noun)
    return phrase._replace(attribute=Relative("subject", inner))


def _tense_verb(
    rng: random.Random, verbs: Sequence[Verb], tense: str, avoid: Verb
) -> Verb:
    """Draw a verb that suits the tense, another one than `avoid` if there is any."""
    fitting = [v for v in verbs if usable(v, tense) and v is not avoid]
    return pick(rng, fitting or verbs)


# By the tense of the main clause; "when" is "als" for what happened once.
_CONJUNCTIONS = {
    "present": (("because", "weil"), ("although", "obwohl"), ("when", "wenn")),
    "past": (("because", "weil"), ("although", "obwohl"), ("when", "als")),
    "perfect": (("because", "weil"), ("although", "obwohl")),
    "future": (("because", "weil"), ("although", "obwohl"), ("when", "wenn")),
}
_WHILE = ("while", "während")


def with_adjunct(rng: random.Random, main: Clause, style: ClauseStyle = SLIM) -> Clause:
    """Add a random subordinate clause to a clause."""
    choice = _CONJUNCTIONS[main.tense]
    if main.tense in ("present", "past"):
        choice += (_WHILE,)
    english, german = pick(rng, choice)
    tense = "past" if main.tense == "past" else "present"
    inner = clause(rng, style, tense)
    if english in ("when", "while"):
        # What happens often would need "wenn", and two times need not agree.
        inner = inner._replace(time=None, frequency=None)
        main = main._replace(time=None, frequency=None)
    return main._replace(adjunct=Subordinate(english, german, inner))
