"""A second task: to go on with a sentence, scored by its likelihood.

It learns the decoder of a translation model, whose source is a single padding token:
a model that was never told of the task.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import flax.struct
import jax.numpy as jnp
import numpy as np

from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.row_layout import RowLayout
from transformer_jax.data.token_cache import TokenCache
from transformer_jax.data.tokenizer import SpecialIds
from transformer_jax.evaluation.means import Ratio
from transformer_jax.fields import fixed
from transformer_jax.models.interface import TRANSLATION_INPUTS
from transformer_jax.tasks.task import Task, Validate, ValidationParts
from transformer_jax.training.losses import smoothed_cross_entropy
from transformer_jax.training.step import LossFn


@dataclasses.dataclass(frozen=True)
class LanguageModelSettings:
    """One field of its own."""

    least_weight: float = fixed(1.0, "weight of each token in the loss", above=0)


@flax.struct.dataclass
class Sentences:
    """Each array is [rows, length]."""

    inputs: Any
    tokens: Any
    segments: Any
    weights: Any


def language_model(settings: LanguageModelSettings) -> Task:
    def make_batch(
        cache: TokenCache, planned: PlannedBatch, specials: SpecialIds
    ) -> Sentences:
        (ids,) = cache.gather(planned.pairs)
        shape = planned.shape.rows, planned.shape.target_length
        layout = RowLayout(cache.lengths[0, planned.pairs], planned.pair_rows, shape)
        segments = layout.place(layout.segments)
        return Sentences(
            inputs=layout.place_shifted(ids, specials.bos, specials.pad),
            tokens=layout.place_tokens(ids, specials.eos, specials.pad),
            segments=segments,
            weights=(segments != 0) * np.float32(settings.least_weight),
        )

    return Task(
        sides=("text",),
        inputs=TRANSLATION_INPUTS,
        plan_lengths=lambda lengths: (np.zeros_like(lengths[0]), lengths[0]),
        make_batch=make_batch,
        make_objective=_make_objective,
        check_languages=_check_languages,
        make_validation=_make_validation,
        score_name="log_likelihood",
        can_translate=False,
    )


def _make_objective(
    model: Any, *, label_smoothing: float, label_smoothing_formula: Any
) -> LossFn:
    def loss_fn(params: Any, batch: Sentences, dropout: Any) -> Any:
        nothing = jnp.zeros_like(batch.tokens[:, :1])
        logits = model.apply(
            {"params": params},
            source_tokens=nothing,
            decoder_input_tokens=batch.inputs,
            source_segments=nothing,
            target_segments=batch.segments,
            dropout=dropout,
        )
        loss, nll, weight = smoothed_cross_entropy(
            logits,
            jnp.asarray(batch.tokens),
            jnp.asarray(batch.weights),
            label_smoothing=label_smoothing,
            label_smoothing_formula=label_smoothing_formula,
            vocab_size=model.config.target_vocab_size,
        )
        sums = {
            "loss": Ratio(loss, weight),
            "nll": Ratio(nll, weight),
            "tokens": jnp.sum(batch.segments != 0, dtype=jnp.float32),
        }
        return loss, (weight, sums)

    return loss_fn


def _check_languages(languages: Sequence[str]) -> None:
    assert len(languages) == 1


def _make_validation(parts: ValidationParts) -> Validate:
    assert len(parts.lines) == len(parts.tokenizers) == 1

    def validate(params: Any) -> Mapping[str, float]:
        means = parts.mean_metrics(params)
        return {
            "perplexity": means["perplexity"],
            "log_likelihood": -means["nll"],
        }

    return validate
