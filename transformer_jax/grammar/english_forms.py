"""English word forms: plurals, articles, verbs, auxiliaries, pronouns.

Whatever agrees has three forms, for the persons that the grammar uses: I, the third
singular, and every plural.
"""

from typing import NamedTuple

Forms = tuple[str, str, str]

_SIBILANTS = ("s", "x", "ch", "sh", "z")


class VerbForms(NamedTuple):
    """Forms of a verb; `present` and `past` for I, third singular, plural."""

    base: str
    present: Forms
    past: Forms
    participle: str


def plural(noun: str) -> str:
    """Return the regular plural: cities, boxes, dogs."""
    return _with_s(noun)


def third_singular(verb: str) -> str:
    """Return the third person of the present: goes, carries, gets to know."""
    first, _, rest = verb.partition(" ")
    inflected = first + "es" if first.endswith("o") else _with_s(first)
    return f"{inflected} {rest}".strip()


def regular_past(verb: str) -> str:
    """Return the past of a regular verb whose last consonant is not doubled."""
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + "ed"


def verb_forms(base: str, past: str, participle: str) -> VerbForms:
    """Build all forms from the three principal parts."""
    return VerbForms(
        base, (base, third_singular(base), base), (past, past, past), participle
    )


def indefinite_article(next_word: str) -> str:
    """Return "an" before a vowel, else "a"; no word here has a silent h."""
    return "an" if next_word[0] in "aeiou" else "a"


def _with_s(word: str) -> str:
    if word.endswith(_SIBILANTS):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


BE = VerbForms("be", ("am", "is", "are"), ("was", "was", "were"), "been")
HAVE = VerbForms("have", ("have", "has", "have"), ("had", "had", "had"), "had")
DO = VerbForms("do", ("do", "does", "do"), ("did", "did", "did"), "done")
WILL: Forms = ("will", "will", "will")

NEGATED = {
    "am": "am not",
    "is": "isn't",
    "are": "aren't",
    "was": "wasn't",
    "were": "weren't",
    "have": "haven't",
    "has": "hasn't",
    "do": "don't",
    "does": "doesn't",
    "did": "didn't",
    "will": "won't",
    "can": "can't",
    "could": "couldn't",
    "should": "shouldn't",
}
