"""What tells the meaning of a pronoun or a noun, read from tables in `lexicon/`."""

import functools
from typing import NamedTuple

from transformer_jax.grammar import lexicon
from transformer_jax.grammar.lexicon import Adjective, Noun


class Antecedent(NamedTuple):
    """A kind of sentence in which "it" or "he" means the subject or the object.

    Attributes:
      subjects: nouns for the subject.
      verb: the English name of the verb.
      objects: nouns for the object (or what the subject fits into).
      clues: adjectives that decide, by [is affirmed][is the object meant].
    """

    subjects: tuple[Noun, ...]
    verb: str
    objects: tuple[Noun, ...]
    clues: tuple[tuple[tuple[Adjective, ...], ...], ...]


@functools.cache
def antecedents() -> tuple[Antecedent, ...]:
    """Return every kind of sentence in which a pronoun has to be understood."""
    return tuple(
        Antecedent(
            lexicon.nouns_named(subject),
            verb,
            lexicon.nouns_named(objects),
            tuple(
                tuple(map(lexicon.adjectives_named, pair))
                for pair in (clues[:2], clues[2:])
            ),
        )
        for subject, verb, objects, *clues in lexicon.rows("anaphora")
    )


class Sense(NamedTuple):
    """One meaning of an English word that German has two words for.

    Attributes:
      noun: the word in this meaning.
      verbs: English names of verbs that suit either meaning.
      clues: pairs of a verb's English name and an object that tell the meaning.
    """

    noun: Noun
    verbs: tuple[str, ...]
    clues: tuple[tuple[str, Noun], ...]


@functools.cache
def senses() -> tuple[Sense, ...]:
    """Return the meanings; the two of a word follow each other."""
    return tuple(_sense(*cells) for cells in lexicon.rows("senses"))


def _sense(
    english: str,
    english_plural: str,
    gender: str,
    german: str,
    german_plural: str,
    declension: str,
    verb_names: str,
    clues: str,
) -> Sense:
    noun = lexicon.make_noun(
        english, english_plural, gender, german, german_plural, declension, "sense"
    )
    pairs = (clue.rpartition(" ") for clue in clues.split(","))
    return Sense(
        noun,
        tuple(verb_names.split(",")),
        tuple((verb, lexicon.noun_named(word)) for verb, _, word in pairs),
    )


def forms_of_rivals(sense: Sense) -> tuple[str, ...]:
    """Return every German form of the other meanings of a word."""
    return tuple(
        sorted(
            {
                form
                for other in senses()
                if other.noun.english == sense.noun.english and other is not sense
                for number in other.noun.german
                for form in number
            }
        )
    )
