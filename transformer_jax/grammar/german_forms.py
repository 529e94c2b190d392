"""German word forms: nouns, articles, adjective endings, verbs, pronouns.

Tables are indexed [column][case]. The columns are masculine, feminine, neuter, plural;
the cases nominative, accusative, dative. Verb forms have three persons: ich, the third
singular, and every plural.
"""

import enum
from typing import NamedTuple

Forms = tuple[str, str, str]
Table = tuple[Forms, Forms, Forms, Forms]


class Case(enum.IntEnum):
    """The three cases that the grammar uses."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2


GENDERS = ("m", "f", "n")
PLURAL_COLUMN = 3

DEFINITE: Table = (
    ("der", "den", "dem"),
    ("die", "die", "der"),
    ("das", "das", "dem"),
    ("die", "die", "den"),
)
RELATIVE_PRONOUNS: Table = (*DEFINITE[:3], ("die", "die", "denen"))

# Endings of dies-, jed-, welch-, and of adjectives that have to show the case.
STRONG: Table = (
    ("er", "en", "em"),
    ("e", "e", "er"),
    ("es", "es", "em"),
    ("e", "e", "en"),
)
# After der, dieser, jeder, alle.
WEAK: Table = (
    ("e", "en", "en"),
    ("e", "e", "en"),
    ("e", "e", "en"),
    ("en", "en", "en"),
)
# After ein, kein and the possessives.
MIXED: Table = (
    ("er", "en", "en"),
    ("e", "e", "en"),
    ("es", "es", "en"),
    ("en", "en", "en"),
)
# Endings of ein, kein and the possessives themselves.
_EIN: Table = (("", "en", "em"), ("e", "e", "er"), ("", "", "em"), ("e", "e", "en"))

CONTRACTIONS = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "an das": "ans",
    "zu dem": "zum",
    "zu der": "zur",
    "von dem": "vom",
    "bei dem": "beim",
}


class VerbForms(NamedTuple):
    """Forms of a verb; `present` and `past` are without the separable prefix."""

    infinitive: str
    prefix: str
    present: Forms
    past: Forms
    participle: str
    auxiliary: str


def with_endings(stem: str, endings: Table) -> Table:
    """Put all endings on a stem."""
    rows = [tuple(stem + ending for ending in row) for row in endings]
    return tuple(rows)  # type: ignore[return-value]


def ein_word(stem: str) -> Table:
    """Decline ein, kein or a possessive."""
    return with_endings(stem, _EIN)


def der_word(stem: str) -> Table:
    """Decline dies-, jed-, welch-, all-, viel-, einig-."""
    return with_endings(stem, STRONG)


def invariable(word: str) -> Table:
    """Return the table of a word without endings: zwei, or no article at all."""
    return ((word,) * 3,) * 4


def decline_noun(singular: str, plural: str, is_weak: bool) -> tuple[Forms, Forms]:
    """Return nominative, accusative, dative of the singular and of the plural.

    A weak noun has its plural's form in the other cases of the singular; the dative
    plural ends in -n unless the plural ends in -n or -s.
    """
    oblique = plural if is_weak else singular
    dative_plural = plural if plural.endswith(("n", "s")) else plural + "n"
    return (singular, oblique, oblique), (plural, plural, dative_plural)


def verb_forms(
    infinitive: str, third: str, past: str, participle: str, auxiliary: str
) -> VerbForms:
    """Build all forms from the principal parts; "|" ends a separable prefix."""
    prefix, _, simple = infinitive.rpartition("|")
    past_plural = past + ("n" if past.endswith("e") else "en")
    return VerbForms(
        prefix + simple,
        prefix,
        (_first_singular(simple, third), third, simple),
        (past, past, past_plural),
        prefix + participle,
        auxiliary,
    )


def _first_singular(infinitive: str, third: str) -> str:
    """Return ich lese, lächle, füttere; wissen has weiß for both persons."""
    if not third.endswith("t"):
        return third
    if infinitive.endswith("eln"):
        return infinitive[:-3] + "le"
    if infinitive.endswith("ern"):
        return infinitive[:-1] + "e"
    return infinitive[:-2] + "e"


SEIN = VerbForms(
    "sein", "", ("bin", "ist", "sind"), ("war", "war", "waren"), "gewesen", "sein"
)
HABEN = VerbForms(
    "haben",
    "",
    ("habe", "hat", "haben"),
    ("hatte", "hatte", "hatten"),
    "gehabt",
    "haben",
)
WERDEN: Forms = ("werde", "wird", "werden")
PERFECT_AUXILIARIES = {"haben": HABEN.present, "sein": SEIN.present}
