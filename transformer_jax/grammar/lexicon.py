"""The words of the grammar, read from the tables in `lexicon/`.

A table names nouns by class ("person"), by group ("animate"), or by the English word
itself ("potato"); a minus takes some away ("text-newspaper").
"""

import functools
import importlib.resources
import re
from collections.abc import Iterator
from typing import NamedTuple

from transformer_jax.grammar import english_forms, german_forms
from transformer_jax.grammar.german_forms import Case

# Every table. A fingerprint of the grammar goes through them in this order.
TABLES = ("nouns", "adjectives", "verbs", "adverbs", "places", "anaphora", "senses")

# Classes that often appear together.
GROUPS = {
    "animate": "person,animal",
    "goods": "food,drink,book,newspaper,novel,vehicle,clothes,hat,furniture,container,"
    "ware,instrument",
    "place": "building,room,outdoors,town,field,meadow,lake,bridge,square",
}


class Noun(NamedTuple):
    """A noun in both languages.

    Attributes:
      english: singular and plural.
      german: for singular and plural, the nominative, accusative and dative.
      column: 0, 1, 2 for masculine, feminine, neuter: where articles look it up.
      classes: what it is, for the verbs and adjectives that go with it.
      has_plural: False for what is not counted, like water.
    """

    english: tuple[str, str]
    german: tuple[tuple[str, str, str], tuple[str, str, str]]
    column: int
    classes: frozenset[str]
    has_plural: bool


class Adjective(NamedTuple):
    """An adjective: as predicate, and the stem that takes endings (teuer, teur-).

    Attributes:
      is_graded: whether something can be "very" so.
      classes: of the nouns it goes with, or their English words.
    """

    english: str
    german: str
    stem: str
    is_graded: bool
    classes: frozenset[str]


class Verb(NamedTuple):
    """A verb in both languages, and what it goes with.

    Attributes:
      english: forms of the English verb, by name.
      particle: "up" in "get up"; stands behind a pronoun ("picks him up").
      preposition: "for" in "look for"; always stands behind the verb.
      german: forms of the German verb.
      aspect: "action"; "state", which is never perfect, future or modal; or "event",
        which happens to the subject and is never modal.
      subjects: nouns that can be its subject.
      pattern: "none", "acc", "dat", "both" (dative and accusative), or "that".
      case: of the direct object.
      objects: nouns that can be its direct object.
      setting: "none", "maybe", "at", "to" or "into": whether a place goes with it.
      places: nouns of these places.
      manner: the adverb of manner that suits it, or "".
      shows_tense: False if past and base look alike in English (read, put).
    """

    english: english_forms.VerbForms
    particle: str
    preposition: str
    german: german_forms.VerbForms
    aspect: str
    subjects: tuple[Noun, ...]
    pattern: str
    case: Case
    objects: tuple[Noun, ...]
    setting: str
    places: tuple[Noun, ...]
    manner: str
    shows_tense: bool


class Adverb(NamedTuple):
    """An adverbial of time, frequency or manner, and the tenses it goes with."""

    english: str
    german: str
    kind: str
    tenses: frozenset[str]


class Place(NamedTuple):
    """The prepositions that a place takes, for being there and for going there."""

    english: str
    german: str
    german_direction: str


def table_text(name: str) -> str:
    """Return a table as text, comments and all."""
    folder = importlib.resources.files("transformer_jax.grammar") / "lexicon"
    return (folder / f"{name}.tsv").read_text(encoding="utf-8")


def rows(name: str) -> Iterator[list[str]]:
    """Yield the cells of each row of a table."""
    for line in table_text(name).split("\n"):
        if line and not line.startswith("#"):
            yield line.split("\t")


def make_noun(
    english: str,
    english_plural: str,
    gender: str,
    german: str,
    german_plural: str,
    declension: str,
    classes: str,
) -> Noun:
    """Build a noun from the cells of its row."""
    has_plural = english_plural != "-"
    if english_plural == "+":
        english_plural = english_forms.plural(english)
    return Noun(
        (english, english_plural),
        german_forms.decline_noun(german, german_plural, declension == "weak"),
        german_forms.GENDERS.index(gender),
        frozenset(classes.split(",")),
        has_plural,
    )


@functools.cache
def nouns() -> tuple[Noun, ...]:
    """Return every noun that has one meaning."""
    return tuple(make_noun(*cells) for cells in rows("nouns"))


@functools.cache
def nouns_named(names: str) -> tuple[Noun, ...]:
    """Return the nouns that a cell names: "person,animal", "goods-vehicle"."""
    if names == "-":
        return ()
    # A group takes the place of its name, before the minus signs are read.
    for group, members in GROUPS.items():
        names = re.sub(rf"(?<![\w-]){group}\b", members, names)
    wanted: dict[str, Noun] = {}
    unwanted: set[str] = set()
    for part in names.split(","):
        name, *exceptions = part.split("-")
        wanted.update(_class_members(name))
        unwanted.update(word for e in exceptions for word in _class_members(e))
    return tuple(noun for word, noun in wanted.items() if word not in unwanted)


def _class_members(name: str) -> dict[str, Noun]:
    members = {n.english[0]: n for n in nouns() if name in {n.english[0], *n.classes}}
    if not members:
        raise ValueError(f"no noun and no class of nouns is called {name!r}")
    return members


def noun_named(english: str) -> Noun:
    """Return the noun of that English singular."""
    return _nouns_by_word()[english]


@functools.cache
def _nouns_by_word() -> dict[str, Noun]:
    return {noun.english[0]: noun for noun in nouns()}


def adjectives_named(names: str) -> tuple[Adjective, ...]:
    """Return the adjectives that a cell names, "-" for none."""
    wanted = () if names == "-" else names.split(",")
    by_word = {adjective.english: adjective for adjective in adjectives()}
    return tuple(by_word[word] for word in wanted)


@functools.cache
def adjectives() -> tuple[Adjective, ...]:
    """Return every adjective."""
    return tuple(
        Adjective(english, german, stem, graded == "yes", frozenset(classes.split(",")))
        for english, german, stem, graded, classes in rows("adjectives")
    )


def _verb(
    english: str,
    past: str,
    participle: str,
    german: str,
    third: str,
    german_past: str,
    german_participle: str,
    auxiliary: str,
    aspect: str,
    subject: str,
    objects: str,
    setting: str,
    manner: str,
) -> Verb:
    verb_words, _, particle = english.partition("/")
    preposition = ""
    if verb_words.endswith((" for", " to")):
        verb_words, _, preposition = verb_words.rpartition(" ")
    regular = english_forms.regular_past(verb_words)
    past, participle = (regular if p == "+" else p for p in (past, participle))
    pattern, _, object_names = objects.partition(":")
    setting, _, place_names = setting.partition(":")
    return Verb(
        english_forms.verb_forms(verb_words, past, participle),
        particle,
        preposition,
        german_forms.verb_forms(
            german, third, german_past, german_participle, auxiliary
        ),
        aspect,
        nouns_named(subject),
        "none" if pattern == "-" else pattern,
        Case.DATIVE if pattern == "dat" else Case.ACCUSATIVE,
        nouns_named(object_names or "-"),
        "none" if setting == "-" else setting,
        nouns_named(place_names or "place"),
        "" if manner == "-" else manner,
        past != verb_words,
    )


@functools.cache
def verbs() -> tuple[Verb, ...]:
    """Return every verb but the copula."""
    return tuple(_verb(*cells) for cells in rows("verbs"))


BE = Verb(
    english_forms.BE,
    "",
    "",
    german_forms.SEIN,
    "state",
    (),
    "none",
    Case.NOMINATIVE,
    (),
    "none",
    (),
    "",
    True,
)


@functools.cache
def verb_named(english: str, subject: str = "Mann") -> Verb:
    """Return the verb of that English name ("look for") that suits a subject.

    The subject is named by its German singular: a person eats with another German verb
    than an animal.
    """
    for verb in verbs():
        name = f"{verb.english.base} {verb.particle or verb.preposition}".strip()
        suits = any(noun.german[0][0] == subject for noun in verb.subjects)
        if name == english and verb.pattern != "that" and suits:
            return verb
    raise ValueError(f"no verb {english!r} goes with the subject {subject!r}")


@functools.cache
def adverbs() -> tuple[Adverb, ...]:
    """Return every adverbial."""
    return tuple(
        Adverb(english, german, kind, frozenset(tenses.split(",")))
        for english, german, kind, tenses in rows("adverbs")
    )


@functools.cache
def places() -> dict[str, Place]:
    """Return the prepositions of each place, by its English noun."""
    return {noun: Place(*prepositions) for noun, *prepositions in rows("places")}
