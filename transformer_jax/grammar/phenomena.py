"""Examples of what attention has to do, each with the word that shows whether it did.

All come from the held-out part of the grammar, none from training.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

from transformer_jax.grammar import (
    clauses,
    english,
    german,
    phrases,
    puzzles,
    sentences,
    structures,
)
from transformer_jax.grammar.german_forms import Case
from transformer_jax.grammar.phrases import pick
from transformer_jax.grammar.splits import hash_number, split_of
from transformer_jax.grammar.structures import (
    Clause,
    NounPhrase,
    PrepositionalPhrase,
    Relative,
    Sentence,
)


class PhenomenonExample(NamedTuple):
    """A sentence and how to tell whether its translation gets one thing right.

    Words and punctuation marks count as tokens. A translation is right if it has the
    decisive tokens one after the other and none of the contrast.

    Attributes:
      source: the English sentence.
      target: its translation.
      decisive: consecutive tokens, such as ("weil", "sie") or ("schläft", ".").
      contrast: tokens that a wrong translation would have instead.
    """

    source: str
    target: str
    decisive: tuple[str, ...]
    contrast: tuple[str, ...] = ()


class _Draft(NamedTuple):
    """A sentence with its decisive tokens, and the distance of what hangs together."""

    sentence: Sentence
    decisive: tuple[str, ...]
    contrast: tuple[str, ...] = ()
    distance: int | None = None


# Random drafts between two that fit, before giving up: a distance may be out of reach.
_MAX_TRIES = 200_000


def phenomenon_examples(
    name: str, num_examples: int, seed: int, *, distance: int | None = None
) -> list[PhenomenonExample]:
    """Return distinct examples of a phenomenon.

    Args:
      name: one of `PHENOMENA`.
      num_examples: how many.
      seed: another seed, other examples.
      distance: words between the two German words that depend on each other; for
        "agreement" (subject and verb) and "long_distance" (finite verb and the word
        that closes the clause) only. None draws all distances.

    Raises:
      ValueError: if the name is unknown, or no sentence has such a distance.
    """
    if name not in PHENOMENA:
        raise ValueError(f"unknown phenomenon {name!r}; known: {', '.join(PHENOMENA)}")
    rng = random.Random(hash_number(f"{name} {seed} {distance}"))
    examples: dict[str, PhenomenonExample] = {}
    tries = 0
    while len(examples) < num_examples:
        tries += 1
        if tries > _MAX_TRIES:
            raise ValueError(f"the grammar has no {name} over {distance} words")
        draft = PHENOMENA[name](rng)
        if draft is None or distance not in (None, draft.distance):
            continue
        source = english.say_sentence(draft.sentence)
        if split_of(source) == "test" and source not in examples:
            target = german.say_sentence(draft.sentence)
            examples[source] = PhenomenonExample(
                source, target, draft.decisive, draft.contrast
            )
            tries = 0
    return list(examples.values())


# What lengthens a clause, without more clauses inside it.
_LENGTHY = clauses.FULL._replace(
    modal=0.0, copula=0.0, time=0.5, setting=0.6, description=0.5, relative=0.0
)


def _agreement(rng: random.Random) -> _Draft | None:
    """Draw a subject whose verb follows a noun of the other number."""
    verb = pick(rng, clauses.plain_verbs())
    if not verb.shows_tense:
        return None
    noun = pick(rng, verb.subjects)
    # In the past, the English verb does not give the number away.
    subject = phrases.noun_phrase(rng, noun, phrases.ONLY_THE, plural_share=0.5)
    if rng.random() < 0.5:
        subject = phrases.described(rng, subject)
    else:
        subject = clauses.with_relative(rng, subject, "past", verb, _LENGTHY)
    attribute = subject.attribute
    if isinstance(attribute, PrepositionalPhrase):
        inner = attribute.phrase
        inner = inner._replace(
            is_plural=not subject.is_plural, determiner=structures.THE
        )
        attribute = attribute._replace(phrase=inner)
    elif not isinstance(attribute, Relative) or not _has_other_number(
        attribute, subject
    ):
        return None
    subject = subject._replace(attribute=attribute)
    style = clauses.BARE._replace(modal=0.0)
    clause = clauses.filled_clause(rng, subject, verb, "past", style)
    right, wrong = verb.german.past[1], verb.german.past[2]
    if subject.is_plural:
        right, wrong = wrong, right
    spoken = german.say_phrase(subject, Case.NOMINATIVE).replace(",", "").split()
    if right in spoken or wrong in spoken:
        return None
    distance = len(spoken) - 1 - spoken.index(noun.german[subject.is_plural][0])
    return _Draft(Sentence(clause), (right,), (wrong,), distance)


def _has_other_number(relative: Relative, subject: NounPhrase) -> bool:
    """Return whether some noun in the relative clause has the other number."""
    inner = relative.clause
    places = [inner.place.phrase] if inner.place else []
    near = [inner.direct, inner.indirect, *places]
    if relative.role != "subject":
        near.append(inner.subject)
    return any(
        isinstance(phrase, NounPhrase) and phrase.is_plural != subject.is_plural
        for phrase in near
    )


def _verb_final(rng: random.Random) -> _Draft | None:
    """Draw a subordinate clause, behind the main clause or before it."""
    sentence = sentences.with_adjunct(rng)
    adjunct = sentence.clause.adjunct
    if adjunct is None:
        return None
    last = german.verb_final(adjunct.clause, adjunct.german).split()[-1]
    return _Draft(sentence, (last, "," if sentence.front == "adjunct" else "."))


def _pronoun(rng: random.Random) -> _Draft | None:
    """Draw an "it" that two nouns of different German genders compete for."""
    puzzle = puzzles.antecedent_puzzle(rng)
    return _Draft(puzzle.sentence, ("weil", puzzle.answer)) if puzzle.rivals else None


def _word_sense(rng: random.Random) -> _Draft:
    """Draw a word whose German depends on a distant one."""
    puzzle = puzzles.sense_puzzle(rng)
    return _Draft(puzzle.sentence, (puzzle.answer,), puzzle.rivals)


def _long_distance(rng: random.Random) -> _Draft | None:
    """Draw a verb in two parts, with the rest of the clause between them."""
    clause: Clause = clauses.clause(rng, _LENGTHY._replace(modal=0.3, relative=0.3))
    closing = german.verb_words(clause)[1]
    distance = len(" ".join(german.middle_words(clause)).replace(" ,", ",").split())
    if not closing or distance < 3:
        return None
    return _Draft(Sentence(clause), (closing, "."), distance=distance)


PHENOMENA: dict[str, Callable[[random.Random], _Draft | None]] = {
    "agreement": _agreement,
    "verb_final": _verb_final,
    "pronoun": _pronoun,
    "word_sense": _word_sense,
    "long_distance": _long_distance,
}
