"""The built-in corpus with labels: questions that its sentences answer."""

import dataclasses
import functools
from collections.abc import Sequence

from transformer_jax.data.text_source import (
    MadeTexts,
    OpenRequest,
    Text,
    TextSource,
)
from transformer_jax.errors import UserError
from transformer_jax.fields import fixed
from transformer_jax.grammar.labelled import QUESTIONS, Question, labelled_texts
from transformer_jax.grammar.splits import Split

_NUM_SENTENCES: dict[Question, int] = {"antecedent": 1, "order": 2}


@dataclasses.dataclass(frozen=True)
class GrammarLabelSettings:
    """What is asked, and of how many texts."""

    question: Question = fixed(
        "antecedent",
        "antecedent: which noun a pronoun means (labels subject,object); order: "
        "whether two sentences are in the order of what happens (labels no,yes)",
    )
    num_train_texts: int = fixed(10_000, "texts of the training split", least=1)
    num_validation_texts: int = fixed(500, "texts of the validation split", least=1)
    num_test_texts: int = fixed(1_000, "texts of the test split", least=1)


def check_grammar_labels(
    settings: GrammarLabelSettings, languages: Sequence[str]
) -> None:
    """Make sure that the question is about as many sentences as a text has.

    Raises:
      UserError: names the field.
    """
    asked = _NUM_SENTENCES[settings.question]
    if asked != len(languages):
        raise UserError(
            f"grammar_labels.question={settings.question} is about {asked} sentences; "
            f"set config.task.num_sentences={asked}."
        )
    if set(languages) != {"en"}:
        raise UserError(
            f"source_language={languages[0]!r}, but the questions are about English. "
            "Set it to en."
        )


def open_grammar_labels(
    settings: GrammarLabelSettings, request: OpenRequest
) -> dict[str, TextSource]:
    """Return the three splits.

    Raises:
      UserError: if the task has other labels than the question.
    """
    check_grammar_labels(settings, request.languages)
    names, _ = QUESTIONS[settings.question]
    if request.labels is not None and request.labels.is_of_words:
        raise UserError(
            "grammar_labels has a label for each text, not for each word. Set "
            "config.task.name=classification."
        )
    if request.labels is not None and set(request.labels.names) != set(names):
        raise UserError(
            f"grammar_labels.question={settings.question} has the labels "
            f"{','.join(names)}; set config.task.labels to them."
        )
    sizes: dict[Split, int] = {
        "train": settings.num_train_texts,
        "validation": settings.num_validation_texts,
        "test": settings.num_test_texts,
    }
    return {
        split: MadeTexts(
            functools.partial(
                _make_texts, settings.question, split, num_texts, request.seed
            ),
            num_texts,
        )
        for split, num_texts in sizes.items()
    }


def _make_texts(
    question: Question, split: Split, num_texts: int, seed: int
) -> list[Text]:
    try:
        return list(labelled_texts(question, split, num_texts, seed))
    except ValueError as error:
        raise UserError(
            f"grammar_labels: {error}. Ask for fewer than {num_texts}."
        ) from error
