"""Random sentences: the mixture that the corpus is made of."""

import random
from collections.abc import Callable

from transformer_jax.grammar import clauses, phrases, puzzles, structures
from transformer_jax.grammar.clauses import FULL, SLIM
from transformer_jax.grammar.german_forms import Case
from transformer_jax.grammar.phrases import pick
from transformer_jax.grammar.structures import (
    THIRD,
    Clause,
    NounPhrase,
    QuestionWord,
    Sentence,
    Trace,
    person_of,
)

Maker = Callable[[random.Random], Sentence]


def statement(rng: random.Random) -> Sentence:
    """Return one main clause, perhaps with its time or place in front."""
    clause = clauses.clause(rng)
    draw = rng.random()
    if clause.time and draw < 0.5:
        return Sentence(clause, "time")
    if clause.place and clause.verb.setting == "maybe" and draw < 0.35:
        return Sentence(clause, "place")
    return Sentence(clause)


_DISTANT = SLIM._replace(description=0.4, relative=0.5, pronoun=0.0, copula=0.05)


def distant_subject(rng: random.Random) -> Sentence:
    """Return a main clause in which other nouns often part subject and verb."""
    return Sentence(clauses.clause(rng, _DISTANT))


def with_adjunct(rng: random.Random) -> Sentence:
    """Return a main clause with a subordinate clause before or behind it."""
    clause = clauses.with_adjunct(rng, clauses.clause(rng, SLIM))
    return Sentence(clause, "adjunct" if rng.random() < 0.4 else "subject")


def with_complement(rng: random.Random) -> Sentence:
    """Return a main clause whose object is a that-clause."""
    return Sentence(reporting_clause(rng))


def reporting_clause(rng: random.Random) -> Clause:
    """Return a clause like "the teacher knows that …"."""
    tense = pick(rng, ("present", "past", "past", "perfect"))
    verb = pick(rng, clauses.reporting_verbs())
    while not clauses.usable(verb, tense):
        verb = pick(rng, clauses.reporting_verbs())
    subject = phrases.subject_phrase(rng, verb.subjects)
    complement = clauses.clause(rng, SLIM, "past" if tense == "past" else None)
    return Clause(subject, verb, tense, complement=complement)


_ASKED = SLIM._replace(frequency=0.0)


def yes_no_question(rng: random.Random) -> Sentence:
    """Return a question with its verb in front."""
    clause = clauses.clause(rng, _ASKED)
    if clause.is_negated:
        clause = clause._replace(is_negated=False)
    return Sentence(clause, "verb")


def word_question(rng: random.Random) -> Sentence:
    """Return a question with who, whom, what, which, where, when or why."""
    tense = pick(rng, ("present", "past", "perfect"))
    verb = pick(rng, clauses.plain_verbs())
    while not clauses.usable(verb, tense):
        verb = pick(rng, clauses.plain_verbs())
    draw = rng.random()
    if draw < 0.3 and "person" in verb.subjects[0].classes:
        clause = clauses.filled_clause(
            rng, Trace(THIRD), verb, tense, _ASKED, subject_noun=verb.subjects[0]
        )
        return Sentence(clause, question=QuestionWord("who", "wer"), asks_subject=True)
    subject = phrases.subject_phrase(rng, verb.subjects, phrases.DEFINITE)
    if draw < 0.7 and verb.objects:
        clause = clauses.filled_clause(
            rng, subject, verb, tense, _ASKED, without="direct"
        )
        return _object_question(rng, clause)
    if verb.setting in ("at", "to"):
        clause = clauses.filled_clause(
            rng, subject, verb, tense, _ASKED, without="place"
        )
        where = "wohin" if verb.setting == "to" else "wo"
        return Sentence(clause, question=QuestionWord("where", where))
    is_when = rng.random() < 0.5 and tense != "perfect"
    clause = clauses.filled_clause(
        rng, subject, verb, tense, _ASKED, without="time" if is_when else ""
    )
    word = QuestionWord("when", "wann") if is_when else QuestionWord("why", "warum")
    return Sentence(clause, question=word)


def _object_question(rng: random.Random, clause: Clause) -> Sentence:
    noun = pick(rng, clause.verb.objects)
    case = clause.verb.case
    are_persons = {"person" in noun.classes for noun in clause.verb.objects}
    # "What has he put on?" might be a coat or a hat, which German tells apart.
    is_open = len(are_persons) > 1 or clause.verb.particle == "on"
    if is_open or rng.random() < 0.5:
        which = phrases.noun_phrase(
            rng, noun, phrases.DeterminerChoice(*((structures.WHICH,),) * 3)
        )
        return Sentence(clause, question=which, question_case=case)
    if are_persons == {True}:
        word = QuestionWord("who", "wem" if case == Case.DATIVE else "wen")
    else:
        word = QuestionWord("what", "was")
    return Sentence(clause, question=word)


def joined(rng: random.Random) -> Sentence:
    """Return two main clauses joined by "and" or "but"."""
    first = clauses.clause(rng, SLIM)
    second = clauses.clause(rng, SLIM, first.tense)
    conjunction = pick(rng, ((" and", " und"), (", but", ", aber")))
    return Sentence(first, conjunction=conjunction, conjunct=second)


def shared_subject(rng: random.Random) -> Sentence:
    """Return one subject with two verbs."""
    tense = pick(rng, ("present", "past"))
    style = SLIM._replace(modal=0.0, copula=0.0, negation=0.0)
    first = clauses.clause(rng, style, tense)
    subject = first.subject
    if isinstance(subject, NounPhrase):
        if subject.determiner is structures.NO:
            subject = subject._replace(determiner=structures.THE)
            first = first._replace(subject=subject)
        verbs = clauses.verbs_with_subject()[phrases.name_of(subject.noun)]
        noun = subject.noun
    else:
        noun = None
        verbs = clauses.verbs_with_subject()["Mann"]
    others = [v for v in verbs if clauses.usable(v, tense) and v is not first.verb]
    # Nothing can follow "the ship sank".
    is_over = first.verb.aspect == "event" and first.verb.pattern == "none"
    if is_over or not others:
        return shared_subject(rng)
    second = clauses.filled_clause(
        rng,
        Trace(person_of(subject)),
        pick(rng, others),
        tense,
        style,
        subject_noun=noun,
    )
    return Sentence(first, conjunction=(" and", " und"), conjunct=second)


def antecedent_sentence(rng: random.Random) -> Sentence:
    """Return a sentence whose pronoun has to be understood."""
    return puzzles.antecedent_puzzle(rng).sentence


def sense_sentence(rng: random.Random) -> Sentence:
    """Return a sentence with a word of two meanings."""
    return puzzles.sense_puzzle(rng).sentence


# Each kind of sentence is drawn from this list; its share is its probability.
MIXTURE: tuple[Maker, ...] = (
    (statement,) * 6
    + (distant_subject,) * 3
    + (with_adjunct,) * 4
    + (with_complement,) * 2
    + (yes_no_question,) * 2
    + (word_question,) * 2
    + (joined,)
    + (shared_subject,)
    + (antecedent_sentence,) * 4
    + (puzzles.object_pronoun_sentence,)
    + (sense_sentence,) * 3
)


def sentence(rng: random.Random) -> Sentence:
    """Return a random sentence of the corpus."""
    return pick(rng, MIXTURE)(rng)


# Everything that lengthens a clause, often.
_RICH = FULL._replace(time=0.5, setting=0.6, description=0.3, relative=0.5)


def long_sentence(rng: random.Random) -> Sentence:
    """Return a sentence of several clauses, with more inside them."""
    first = clauses.with_adjunct(rng, clauses.clause(rng, _RICH), _RICH)
    draw = rng.random()
    if draw < 0.4:
        return Sentence(first, "adjunct" if draw < 0.2 else "subject")
    if draw < 0.7:
        report = reporting_clause(rng)
        tense = "past" if report.tense == "past" else "present"
        inner = clauses.with_adjunct(rng, clauses.clause(rng, _RICH, tense), _RICH)
        return Sentence(report._replace(complement=inner))
    second = clauses.clause(rng, _RICH, first.tense)
    return Sentence(first, conjunction=(", but", ", aber"), conjunct=second)
