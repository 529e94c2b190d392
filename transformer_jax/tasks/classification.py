"""Fine-tuning with one added layer: classes of texts, or of their words.

Devlin et al. 2018, Section 4 and Figure 4.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.data.batch import Array
from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.labels import Labels, labels_from
from transformer_jax.data.marked_words import unmark
from transformer_jax.data.sentence_rows import SentenceRows, row_lengths, sentence_rows
from transformer_jax.data.token_cache import TokenCache
from transformer_jax.data.tokenizer import SpecialIds
from transformer_jax.decoding.classifier import (
    Classifier,
    ClassifierSettings,
    class_logits,
)
from transformer_jax.errors import UserError
from transformer_jax.evaluation.class_scores import score_classes
from transformer_jax.evaluation.means import MetricSums
from transformer_jax.fields import check_declared, fixed
from transformer_jax.models.bert import CLASSIFICATION_INPUTS, TAGGING_INPUTS, Bert
from transformer_jax.models.dropout import DropoutBits
from transformer_jax.tasks.objective import sum_predictions
from transformer_jax.tasks.task import Task, Validate, ValidationParts
from transformer_jax.training.losses import Formula
from transformer_jax.training.step import LossFn, Params

ClassScoreName = Literal["accuracy", "f1", "matthews"]


@dataclasses.dataclass(frozen=True)
class ClassificationSettings:
    """Texts of one sentence or two, each with a label."""

    labels: str = fixed("no,yes", "names of the classes, with commas")
    num_sentences: int = fixed(1, "sentences of a text: 1, or 2 for pairs", least=1)
    row_length: int = fixed(
        128, "pieces of a row at most; the longer sentence loses its end", least=8
    )
    score: ClassScoreName = fixed("accuracy", "what the best weights are chosen by")

    def __post_init__(self) -> None:
        check_declared(self)
        if self.num_sentences > 2:
            raise UserError(f"num_sentences={self.num_sentences}: expected 1 or 2.")


@dataclasses.dataclass(frozen=True)
class TaggingSettings:
    """Texts with a label for each word; words are what spaces part."""

    labels: str = fixed("O,X", "names of the classes, with commas")
    row_length: int = fixed(
        128, "pieces of a row at most; training loses the ends of longer texts", least=8
    )
    score: ClassScoreName = fixed("accuracy", "what the best weights are chosen by")


@flax.struct.dataclass
class LabelledBatch:
    """Rows with classes.

    Attributes:
      rows: of sentences.
      classes: [batch, places] int32: one place for the row, or one for each position.
      loss_weights: [batch, places] float32: 1 where there is a class, else 0.
    """

    rows: SentenceRows
    classes: Array
    loss_weights: Array


def classification(settings: ClassificationSettings) -> Task:
    """Return the task of labelling texts."""
    sides = ("text",) if settings.num_sentences == 1 else ("first", "second")
    labels = labels_from(settings.labels)
    return _make_task(sides, labels, settings.row_length, settings.score)


def tagging(settings: TaggingSettings) -> Task:
    """Return the task of labelling words."""
    labels = labels_from(settings.labels, is_of_words=True)
    return _make_task(("text",), labels, settings.row_length, settings.score)


def _make_task(
    sides: tuple[str, ...], labels: Labels, row_length: int, score: str
) -> Task:
    def plan_lengths(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # The plan counts the piece that closes the row itself.
        lengths = row_lengths(lengths[:-1], row_length) - 1
        return lengths, lengths

    return Task(
        sides=(*sides, "labels"),
        inputs=TAGGING_INPUTS if labels.is_of_words else CLASSIFICATION_INPUTS,
        plan_lengths=plan_lengths,
        make_batch=functools.partial(_make_batch, is_of_words=labels.is_of_words),
        make_objective=functools.partial(_make_objective, labels=labels),
        check_languages=lambda languages: None,  # Any will do.
        make_validation=functools.partial(
            _make_validation, labels=labels, row_length=row_length
        ),
        score_name=score,
        can_translate=False,
        labels=labels,
        marks_words=labels.is_of_words,
        row_length=row_length,
    )


def _make_batch(
    cache: TokenCache, planned: PlannedBatch, specials: SpecialIds, is_of_words: bool
) -> LabelledBatch:
    lengths = cache.lengths[:, planned.pairs]
    *sentences, classes = (
        np.split(ids, np.cumsum(of_side)[:-1])
        for ids, of_side in zip(cache.gather(planned.pairs), lengths, strict=True)
    )
    shape = planned.shape.rows, planned.shape.target_length
    if not is_of_words:
        rows = sentence_rows(list(zip(*sentences, strict=True)), shape, specials)
        of_rows = np.zeros((shape[0], 1), np.int32)
        of_rows[: len(classes), 0] = np.concatenate(classes)
        weights = (np.arange(shape[0]) < len(classes)).astype(np.float32)[:, None]
        return LabelledBatch(rows, of_rows, weights)
    (marked,) = sentences
    pieces, is_first = zip(*map(unmark, marked), strict=True)
    rows = sentence_rows([[of_text] for of_text in pieces], shape, specials)
    of_positions, weights = _classes_of_positions(is_first, classes, shape)
    return LabelledBatch(rows, of_positions, weights)


def _classes_of_positions(
    is_first: tuple[np.ndarray, ...], classes: list[np.ndarray], shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Put each word's class where its first piece stands.

    Args:
      is_first: of each text, whether a piece begins a word.
      classes: of each text, one for each word.
      shape: rows and their length.
    """
    of_positions, weights = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for row, (begins, of_words) in enumerate(zip(is_first, classes, strict=True)):
        # Behind the piece that opens the row, and before the one that closes it.
        places = np.flatnonzero(begins[: shape[1] - 2]) + 1
        of_positions[row, places] = of_words[: len(places)]
        weights[row, places] = 1.0
    return of_positions, weights


def _make_objective(
    model: Bert,
    *,
    labels: Labels,
    label_smoothing: float,
    label_smoothing_formula: Formula,
) -> LossFn:
    """Teach a model the classes.

    Returns:
      A loss function, of classes; it sums what `sum_predictions` does.
    """

    def loss_fn(
        params: Params, batch: LabelledBatch, dropout: DropoutBits | None
    ) -> tuple[jax.Array, tuple[jax.Array, MetricSums]]:
        logits = class_logits(model, params, batch.rows, labels, dropout)
        return sum_predictions(
            logits,
            jnp.asarray(batch.classes),
            jnp.asarray(batch.loss_weights),
            jnp.asarray(batch.rows.segments),
            vocab_size=labels.vocab_size,
            label_smoothing=label_smoothing,
            label_smoothing_formula=label_smoothing_formula,
        )

    return loss_fn


def _make_validation(
    parts: ValidationParts, labels: Labels, row_length: int
) -> Validate:
    """Return what classifies every text of the split, and scores that."""
    *sentences, truths = parts.lines
    numbers = [number for of_text in labels.encode(truths) for number in of_text]
    texts = list(zip(*sentences, strict=True))
    settings = ClassifierSettings(row_length, parts.search.tokens_per_batch)
    classifier = Classifier(
        parts.model, None, parts.tokenizers[0], labels, settings, parts.placement
    )

    def validate(params: Any) -> Mapping[str, float]:
        classifier.params = params
        found = classifier.classify(texts)
        guesses = [number for prediction in found for number in prediction.classes]
        scores = score_classes(guesses, numbers, labels.vocab_size)
        return {"loss": parts.mean_metrics(params)["loss"]} | scores.as_dict()

    return validate
