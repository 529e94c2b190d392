"""Texts with labels that the grammar knows: what a pronoun means, what comes first."""

import random
from collections.abc import Callable, Iterator
from typing import Literal

from transformer_jax.grammar import english, puzzles
from transformer_jax.grammar.splits import Split, hash_number, split_of

Question = Literal["antecedent", "order"]

# Draws without a new text before giving up: nearly all have been found.
_MAX_TRIES = 20_000

# Sentences of a text, and its label behind them; `swapped` asks for the second label.
_Draw = Callable[[random.Random, bool], tuple[str, ...]]


def antecedent(rng: random.Random, swapped: bool) -> tuple[str, ...]:
    """Return a sentence, and whether its pronoun means the subject or the object.

    In English the pronoun fits both.
    """
    while True:
        sentence, subject, other, meant = puzzles.reference(rng)
        pronouns = {puzzles.pronoun_for(noun).english for noun in (subject, other)}
        if len(pronouns) == 1 and swapped == (meant is other):
            return english.say_sentence(sentence), "object" if swapped else "subject"


def order(rng: random.Random, swapped: bool) -> tuple[str, ...]:
    """Return two sentences, and whether they are in the order of what happens."""
    first, second = map(english.say_sentence, puzzles.two_steps(rng))
    return (second, first, "no") if swapped else (first, second, "yes")


# From a question to its labels, in order, and what draws a text.
QUESTIONS: dict[Question, tuple[tuple[str, str], _Draw]] = {
    "antecedent": (("subject", "object"), antecedent),
    "order": (("no", "yes"), order),
}


def labelled_texts(
    question: Question, split: Split, num_texts: int, seed: int
) -> Iterator[tuple[str, ...]]:
    """Yield distinct texts of a split; labels take turns, and no text is in two splits.

    Args:
      question: what the labels answer.
      split: of the grammar.
      num_texts: how many.
      seed: another seed, other texts.

    Raises:
      ValueError: if the grammar hardly has any more.
    """
    _, draw = QUESTIONS[question]
    rng = random.Random(hash_number(f"{question} {split} {seed}"))
    found: set[tuple[str, ...]] = set()
    tries = 0
    while len(found) < num_texts:
        tries += 1
        if tries > _MAX_TRIES:
            raise ValueError(
                f"the {split} split has hardly more than {len(found)} texts of the "
                f"question {question!r}"
            )
        text = draw(rng, len(found) % 2 == 1)
        # Two sentences are in one split, in whatever order.
        if text not in found and split_of(" ".join(sorted(text[:-1]))) == split:
            found.add(text)
            tries = 0
            yield text
