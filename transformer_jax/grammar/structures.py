"""What a sentence is before it is said in either language.

The grammar builds these structures at random; `english.py` and `german.py` say them.
"""

from __future__ import annotations

from typing import NamedTuple

from transformer_jax.grammar import german_forms
from transformer_jax.grammar.german_forms import Case, Forms, Table
from transformer_jax.grammar.lexicon import Adjective, Adverb, Noun, Verb

# The persons that verbs agree with.
FIRST, THIRD, PLURAL = 0, 1, 2


class Determiner(NamedTuple):
    """An article or what stands in its place, and the endings it leaves to adjectives.

    Attributes:
      english: before a singular and before a plural noun.
      german: [column][case].
      endings: of an adjective behind it, [column][case].
      is_indefinite: whether "not" and this make a German "kein".
      is_article: whether a preposition may melt into it (im, zum).
      is_possessive: whether it names an owner.
    """

    english: tuple[str, str]
    german: Table
    endings: Table
    is_indefinite: bool = False
    is_article: bool = False
    is_possessive: bool = False


_ein, _der = german_forms.ein_word, german_forms.der_word
_same = german_forms.invariable
_weak, _mixed, _strong = german_forms.WEAK, german_forms.MIXED, german_forms.STRONG

THE = Determiner(("the", "the"), german_forms.DEFINITE, _weak, is_article=True)
A = Determiner(("a", ""), _ein("ein"), _mixed, is_indefinite=True)
BARE = Determiner(("", ""), _same(""), _strong, is_indefinite=True)
THIS = Determiner(("this", "these"), _der("dies"), _weak)
EVERY = Determiner(("every", ""), _der("jed"), _weak)
WHICH = Determiner(("which", "which"), _der("welch"), _weak)
ALL = Determiner(("", "all"), _der("all"), _weak)
MANY = Determiner(("", "many"), _der("viel"), _strong)
SOME = Determiner(("", "some"), _der("einig"), _strong)
TWO = Determiner(("", "two"), _same("zwei"), _strong)
THREE = Determiner(("", "three"), _same("drei"), _strong)
FOUR = Determiner(("", "four"), _same("vier"), _strong)
NO = Determiner(("no", "no"), _ein("kein"), _mixed)
MY = Determiner(("my", "my"), _ein("mein"), _mixed, is_possessive=True)
HIS = Determiner(("his", "his"), _ein("sein"), _mixed, is_possessive=True)
HER = Determiner(("her", "her"), _ein("ihr"), _mixed, is_possessive=True)
OUR = Determiner(("our", "our"), _ein("unser"), _mixed, is_possessive=True)
THEIR = Determiner(("their", "their"), _ein("ihr"), _mixed, is_possessive=True)


class PrepositionalPhrase(NamedTuple):
    """A preposition in both languages, the case it asks for, and its noun phrase."""

    english: str
    german: str
    case: Case
    phrase: NounPhrase


class Relative(NamedTuple):
    """A relative clause; its pronoun fills the role that `clause` leaves open.

    Attributes:
      role: "subject", "direct", "indirect", or "place".
      clause: has a `Trace` as subject, or None in the role.
      preposition: English and German, for the role "place" (always dative).
    """

    role: str
    clause: Clause
    preposition: tuple[str, str] = ("", "")


class NounPhrase(NamedTuple):
    """A noun with its determiner and what describes it."""

    noun: Noun
    determiner: Determiner
    is_plural: bool = False
    adjective: Adjective | None = None
    attribute: PrepositionalPhrase | Relative | None = None


class Pronoun(NamedTuple):
    """A personal pronoun; English has a subject and an object form."""

    english: tuple[str, str]
    german: Forms
    person: int


class Pair(NamedTuple):
    """Two noun phrases joined by "and"."""

    first: NounPhrase
    second: NounPhrase


class Trace(NamedTuple):
    """An unspoken subject: the question, the relative or an earlier word says it."""

    person: int


Phrase = NounPhrase | Pronoun | Pair | Trace

I = Pronoun(("I", "me"), ("ich", "mich", "mir"), FIRST)  # noqa: E741
HE = Pronoun(("he", "him"), ("er", "ihn", "ihm"), THIRD)
SHE = Pronoun(("she", "her"), ("sie", "sie", "ihr"), THIRD)
WE = Pronoun(("we", "us"), ("wir", "uns", "uns"), PLURAL)
THEY = Pronoun(("they", "them"), ("sie", "sie", "ihnen"), PLURAL)
# "It" by the German gender of what it stands for.
IT = (
    Pronoun(("it", "it"), HE.german, THIRD),
    Pronoun(("it", "it"), SHE.german, THIRD),
    Pronoun(("it", "it"), ("es", "es", "ihm"), THIRD),
)


class Modal(NamedTuple):
    """A modal verb.

    Attributes:
      english: present and past, each for three persons; base and what follows the form.
      is_auxiliary: whether it is negated and asks without "do".
      english_base: after "do"; unused for auxiliaries.
      english_rest: what follows the finite form ("allowed to").
      german: present and past.
    """

    english: tuple[Forms, Forms]
    is_auxiliary: bool
    english_base: str
    english_rest: str
    german: tuple[Forms, Forms]


class Predicate(NamedTuple):
    """An adjective behind the copula, with its degree ("too", "zu")."""

    degree: tuple[str, str]
    adjective: Adjective


class Subordinate(NamedTuple):
    """A subordinate clause with its conjunction in both languages."""

    english: str
    german: str
    clause: Clause


class Clause(NamedTuple):
    """One verb and what belongs to it.

    `tense` is "present", "past", "perfect" or "future". A role that a question or
    relative word fills is None.
    """

    subject: Phrase
    verb: Verb
    tense: str = "present"
    modal: Modal | None = None
    is_negated: bool = False
    indirect: Phrase | None = None
    direct: Phrase | None = None
    predicate: Predicate | None = None
    time: Adverb | None = None
    frequency: Adverb | None = None
    manner: Adverb | None = None
    place: PrepositionalPhrase | None = None
    complement: Clause | None = None
    adjunct: Subordinate | None = None


class QuestionWord(NamedTuple):
    """A question word: who, what, where …, in both languages."""

    english: str
    german: str


class Sentence(NamedTuple):
    """A whole sentence.

    Attributes:
      clause: the main clause.
      front: what stands first: "subject", "time", "place", "adjunct" (its subordinate
        clause), or "verb" for a yes/no question.
      question: what stands first in a w-question, in place of `front`.
      question_case: of a question that is a noun phrase ("which book").
      asks_subject: whether the question asks for the subject, without "do".
      conjunction: English and German, with the comma if there is one.
      conjunct: the second main clause.
    """

    clause: Clause
    front: str = "subject"
    question: QuestionWord | NounPhrase | None = None
    question_case: Case = Case.NOMINATIVE
    asks_subject: bool = False
    conjunction: tuple[str, str] = ("", "")
    conjunct: Clause | None = None


def person_of(phrase: Phrase) -> int:
    """Return the person that the verb agrees with."""
    if isinstance(phrase, NounPhrase):
        return PLURAL if phrase.is_plural else THIRD
    return PLURAL if isinstance(phrase, Pair) else phrase.person


def is_indefinite(phrase: Phrase | None) -> bool:
    """Return whether "not" turns the German article into "kein"."""
    return isinstance(phrase, NounPhrase) and phrase.determiner.is_indefinite
