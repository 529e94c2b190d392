"""Translation: from each sentence of a pair to the other (Section 5.1)."""

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transformer_jax.data.batch import assemble
from transformer_jax.decoding.translator import Translator
from transformer_jax.errors import UserError
from transformer_jax.evaluation.languages import require_language
from transformer_jax.evaluation.scores import score
from transformer_jax.evaluation.suspicions import find_degeneration
from transformer_jax.models.interface import TRANSLATION_INPUTS
from transformer_jax.tasks.objective import translation_objective
from transformer_jax.tasks.task import Task, Validate, ValidationParts

_LOGGER = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class TranslationSettings:
    """Translation has no fields of its own."""


def translation(settings: TranslationSettings) -> Task:
    """Return the task; its score is sacreBLEU's."""
    return Task(
        sides=("source", "target"),
        inputs=TRANSLATION_INPUTS,
        plan_lengths=_plan_lengths,
        make_batch=assemble,
        make_objective=translation_objective,
        check_languages=_check_languages,
        make_validation=_make_validation,
        score_name="sacrebleu",
        can_translate=True,
    )


def _plan_lengths(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return lengths[0], lengths[1]


def _check_languages(languages: Sequence[str]) -> None:
    try:
        require_language(languages[1])
    except UserError as error:
        raise UserError(f"target_language: {error}") from error


def _make_validation(parts: ValidationParts) -> Validate:
    """Return what translates the split and scores it, beside its loss."""
    sources, references = parts.lines
    language = parts.languages[1]
    # What cannot be scored is refused now, not at the first validation.
    score(references, references, language)
    source, target = parts.tokenizers
    translator = Translator(
        parts.model, None, source, target, parts.search, parts.placement
    )

    def validate(params: Any) -> Mapping[str, float]:
        means = parts.mean_metrics(params)
        translator.params = params
        hypotheses = [line.text for line in translator.translate(sources)]
        for note in find_degeneration(hypotheses, references, side="translated"):
            _LOGGER.warning("Validation: %s", note)
        scores = score(hypotheses, references, language)
        return {
            "loss": means["loss"],
            "perplexity": means["perplexity"],
            "accuracy": means["accuracy"],
            "sacrebleu": scores.sacrebleu,
            "chrf": scores.chrf,
        }

    return validate
