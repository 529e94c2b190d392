"""Pre-training: to predict hidden tokens from what stands around them.

Devlin et al. 2018, Section 3.1. With the prediction of the next sentence a row holds
two stretches of text; without it one sentence, or several with packed batches, each
between the pieces that open and close a sentence.
"""

import collections
import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.data.batch import Array
from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.masking import MaskingRule, hide_tokens
from transformer_jax.data.pretraining_rows import rows_of_pairs, rows_of_sentences
from transformer_jax.data.token_cache import TokenCache
from transformer_jax.data.tokenizer import MASK_PIECE, SpecialIds
from transformer_jax.errors import UserError
from transformer_jax.evaluation.means import MetricSums, Ratio
from transformer_jax.fields import fixed
from transformer_jax.models.bert import PRETRAINING_INPUTS, Bert
from transformer_jax.models.dropout import DropoutBits
from transformer_jax.tasks.objective import sum_predictions
from transformer_jax.tasks.task import Task, Validate, ValidationParts
from transformer_jax.training.losses import Formula
from transformer_jax.training.step import LossFn, Params

# What a validation reports, where there is such a thing.
_REPORTED = (
    "loss",
    "perplexity",
    "accuracy",
    "next_sentence_loss",
    "next_sentence_accuracy",
)


@dataclasses.dataclass(frozen=True)
class MaskedLanguageModelSettings:
    """How tokens are hidden (Devlin et al. 2018, Section 3.1)."""

    mask_rate: float = fixed(
        0.15, "share of a row's tokens that are to be predicted", above=0, below=1
    )
    mask_share: float = fixed(
        0.8, f"share of these in whose place {MASK_PIECE} stands", least=0
    )
    random_share: float = fixed(
        0.1, "share in whose place a random piece stands; the others stay", least=0
    )
    whole_words: bool = fixed(
        False, "choose all pieces of a word, which spaces part; not in the paper"
    )
    next_sentence: bool = fixed(
        False,
        "predict as well whether the second half of a row follows the first; needs "
        "documents",
    )
    row_length: int = fixed(
        128, "pieces of a row, for the prediction of the next sentence", least=8
    )


@flax.struct.dataclass
class MaskedBatch:
    """Rows of sentences, some of whose tokens are hidden.

    Attributes:
      tokens: [batch, length] int32, as they are seen.
      segments: [batch, length] int32, numbers the sentences of a row; 0 on padding.
      positions: [batch, length] int32, from 0 in each sentence.
      token_types: [batch, length] int32: 1 in what may follow the rest, else 0.
      masked_places: [batch, num_places] int32, where tokens are to be predicted.
      masked_tokens: [batch, num_places] int32, what they are.
      loss_weights: [batch, num_places] float32: 1 where there is one, else 0.
      is_next: [batch] int32: 1 where the second half of a row follows the first.
      pair_weights: [batch] float32: 0 where that is not to be predicted.
    """

    tokens: Array
    segments: Array
    positions: Array
    token_types: Array
    masked_places: Array
    masked_tokens: Array
    loss_weights: Array
    is_next: Array
    pair_weights: Array


def masked_language_model(settings: MaskedLanguageModelSettings) -> Task:
    """Return the task; its score is the share of hidden tokens that are found.

    Raises:
      UserError: if the shares do not fit together.
    """
    if settings.mask_share + settings.random_share > 1:
        raise UserError(
            f"mask_share={settings.mask_share:g} and random_share="
            f"{settings.random_share:g} are more than 1 together. Lower one."
        )

    def make_batch(
        cache: TokenCache, planned: PlannedBatch, specials: SpecialIds
    ) -> MaskedBatch:
        return _make_batch(cache, planned, specials, settings)

    def plan_lengths(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # A piece more than the sentence has opens it, and the plan counts another.
        planned = lengths[0] + 1
        if settings.next_sentence:  # Whatever opens a row, the row is filled.
            planned = np.full_like(planned, settings.row_length - 1)
        # Both alike: a source that is not there would fill rows too early.
        return planned, planned

    return Task(
        sides=("text", "document") if settings.next_sentence else ("text",),
        inputs=PRETRAINING_INPUTS,
        plan_lengths=plan_lengths,
        make_batch=make_batch,
        make_objective=functools.partial(_make_objective, settings=settings),
        check_languages=lambda languages: None,  # Any will do.
        make_validation=_make_validation,
        score_name="accuracy",
        can_translate=False,
        control_pieces=(MASK_PIECE,),
        has_documents=settings.next_sentence,
        marks_words=settings.whole_words,
        row_length=settings.row_length if settings.next_sentence else None,
    )


def _make_batch(
    cache: TokenCache,
    planned: PlannedBatch,
    specials: SpecialIds,
    settings: MaskedLanguageModelSettings,
) -> MaskedBatch:
    if specials.mask is None:
        raise UserError(
            f"The tokenizer has no piece {MASK_PIECE} to hide others with. Train it "
            f"with --control_symbols={MASK_PIECE}, or let the run train its own."
        )
    rng = np.random.default_rng(planned.seed)
    marks_words = settings.whole_words
    rows = (
        rows_of_pairs(rng, cache, planned, specials, marks_words=marks_words)
        if settings.next_sentence
        else rows_of_sentences(cache, planned, specials, marks_words=marks_words)
    )
    not_text = [specials.bos, specials.eos]
    is_text = (rows.segments != 0) & ~np.isin(rows.tokens, not_text)
    rule = MaskingRule(
        specials.mask,
        specials.first_text,
        specials.vocab_size,
        settings.mask_rate,
        settings.mask_share,
        settings.random_share,
    )
    masked = hide_tokens(rng, rows.tokens, is_text, rule, rows.words)
    return MaskedBatch(
        tokens=masked.tokens,
        segments=rows.segments,
        positions=rows.positions,
        token_types=rows.token_types,
        masked_places=masked.places,
        masked_tokens=masked.truths,
        loss_weights=masked.weights,
        is_next=rows.is_next,
        pair_weights=rows.pair_weights,
    )


def _make_objective(
    model: Bert,
    *,
    settings: MaskedLanguageModelSettings,
    label_smoothing: float,
    label_smoothing_formula: Formula,
) -> LossFn:
    """Teach a model the hidden tokens, and whether a row goes on.

    Returns:
      A loss function. Of hidden tokens it sums what `sum_predictions` does. Where rows
      may go on, the loss is the sum of two means, over hidden tokens and over rows;
      next_sentence_loss, in nats, and next_sentence_accuracy are over rows. A row
      counts as its hidden tokens do, so that the sums of parts of a batch add up.
    """

    def loss_fn(
        params: Params, batch: MaskedBatch, dropout: DropoutBits | None
    ) -> tuple[jax.Array, tuple[jax.Array, MetricSums]]:
        logits, pair_logits = model.apply(
            {"params": params},
            batch.tokens,
            segments=batch.segments,
            token_types=batch.token_types,
            masked_places=batch.masked_places,
            positions=batch.positions,
            dropout=dropout,
        )
        loss_sum, (weight_sum, sums) = sum_predictions(
            logits,
            jnp.asarray(batch.masked_tokens),
            jnp.asarray(batch.loss_weights),
            jnp.asarray(batch.segments),
            vocab_size=model.config.vocab_size,
            label_smoothing=label_smoothing,
            label_smoothing_formula=label_smoothing_formula,
        )
        if not settings.next_sentence:
            return loss_sum, (weight_sum, sums)
        follows = jnp.asarray(batch.is_next)[:, None]
        # A row's prediction weighs as much as those of its tokens together.
        num_hidden = jnp.sum(jnp.asarray(batch.loss_weights), axis=1)
        pair_weights = (jnp.asarray(batch.pair_weights) * num_hidden)[:, None]
        pair_sum, (_, of_pairs) = sum_predictions(
            jnp.asarray(pair_logits)[:, None],
            1 - follows,  # The head's order of classes.
            pair_weights,
            jnp.asarray(batch.segments),
            vocab_size=2,
            label_smoothing=0.0,
            label_smoothing_formula=label_smoothing_formula,
        )
        loss_sum += pair_sum
        sums = {
            **sums,
            "loss": Ratio(loss_sum, weight_sum),
            "next_sentence_loss": of_pairs["loss"],
            "next_sentence_accuracy": of_pairs["accuracy"],
        }
        return loss_sum, (weight_sum, sums)

    return loss_fn


def _make_validation(parts: ValidationParts) -> Validate:
    """Return what predicts the split's hidden tokens, always the same ones.

    Beside it stands what one gets without looking: always the most frequent piece, and
    each piece by its frequency.
    """
    (tokenizer,), lines = parts.tokenizers, parts.lines[0]
    unigram = _unigram(tokenizer.encode(lines))

    def validate(params: Any) -> Mapping[str, float]:
        means = parts.mean_metrics(params)
        return {name: means[name] for name in _REPORTED if name in means} | unigram

    return validate


def _unigram(sentences: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return accuracy and perplexity of a guess by the frequency of pieces."""
    counts = collections.Counter(piece for ids in sentences for piece in ids)
    total = counts.total()
    entropy = -sum(n / total * math.log(n / total) for n in counts.values())
    return {
        "unigram_accuracy": max(counts.values()) / total,
        "unigram_perplexity": math.exp(entropy),
    }
