"""Pre-training: to predict hidden tokens from what stands around them.

Devlin et al. 2018, Section 3.1, without the prediction of the next sentence: a row
holds one sentence, or several with packed batches, each between the pieces that open
and close a sentence.
"""

import collections
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.data.batch import Array
from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.marked_words import unmark
from transformer_jax.data.masking import MaskingRule, hide_tokens
from transformer_jax.data.row_layout import RowLayout
from transformer_jax.data.token_cache import TokenCache
from transformer_jax.data.tokenizer import MASK_PIECE, SpecialIds
from transformer_jax.errors import UserError
from transformer_jax.evaluation.means import MetricSums
from transformer_jax.fields import fixed
from transformer_jax.models.bert import PRETRAINING_INPUTS, Bert
from transformer_jax.models.dropout import DropoutBits
from transformer_jax.tasks.objective import sum_predictions
from transformer_jax.tasks.task import Task, Validate, ValidationParts
from transformer_jax.training.losses import Formula
from transformer_jax.training.step import LossFn, Params


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


@flax.struct.dataclass
class MaskedBatch:
    """Rows of sentences, some of whose tokens are hidden.

    Attributes:
      tokens: [batch, length] int32, as they are seen.
      segments: [batch, length] int32, numbers the sentences of a row; 0 on padding.
      positions: [batch, length] int32, from 0 in each sentence.
      masked_places: [batch, num_places] int32, where tokens are to be predicted.
      masked_tokens: [batch, num_places] int32, what they are.
      loss_weights: [batch, num_places] float32: 1 where there is one, else 0.
    """

    tokens: Array
    segments: Array
    positions: Array
    masked_places: Array
    masked_tokens: Array
    loss_weights: Array


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

    return Task(
        sides=("text",),
        inputs=PRETRAINING_INPUTS,
        plan_lengths=_plan_lengths,
        make_batch=make_batch,
        make_objective=_make_objective,
        check_languages=lambda languages: None,  # Any will do.
        make_validation=_make_validation,
        score_name="accuracy",
        can_translate=False,
        control_pieces=(MASK_PIECE,),
        marks_words=settings.whole_words,
    )


def _plan_lengths(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Plan for a piece more than the sentence has, the one that opens it."""
    # Both sides alike: that of a source that is not there would fill rows too early.
    return lengths[0] + 1, lengths[0] + 1


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
    (ids,) = cache.gather(planned.pairs)
    lengths = cache.lengths[0, planned.pairs]
    starts = np.cumsum(lengths) - lengths
    begins = None
    if settings.whole_words:
        ids, begins = unmark(ids)
    opened = np.insert(ids, starts, specials.bos)
    shape = planned.shape.rows, planned.shape.target_length
    layout = RowLayout(lengths + 1, planned.pair_rows, shape)
    tokens = layout.place_tokens(opened, specials.eos, specials.pad)
    segments = layout.place(layout.segments)
    is_text = (segments != 0) & ~np.isin(tokens, [specials.bos, specials.eos])
    rule = MaskingRule(
        specials.mask,
        specials.first_text,
        specials.vocab_size,
        settings.mask_rate,
        settings.mask_share,
        settings.random_share,
    )
    words = None
    if begins is not None:  # What opens and closes is a word of its own.
        begins = np.insert(begins, starts, True)
        words = np.cumsum(layout.place_tokens(begins, 1, 1), axis=1) - 1
    masked = hide_tokens(
        np.random.default_rng(planned.seed), tokens, is_text, rule, words
    )
    return MaskedBatch(
        tokens=masked.tokens,
        segments=segments,
        positions=layout.place(layout.positions),
        masked_places=masked.places,
        masked_tokens=masked.truths,
        loss_weights=masked.weights,
    )


def _make_objective(
    model: Bert, *, label_smoothing: float, label_smoothing_formula: Formula
) -> LossFn:
    """Teach a model the hidden tokens.

    Returns:
      A loss function, of hidden tokens; it sums what `sum_predictions` does.
    """

    def loss_fn(
        params: Params, batch: MaskedBatch, dropout: DropoutBits | None
    ) -> tuple[jax.Array, tuple[jax.Array, MetricSums]]:
        logits, _ = model.apply(
            {"params": params},
            batch.tokens,
            segments=batch.segments,
            token_types=jnp.zeros_like(batch.tokens),
            masked_places=batch.masked_places,
            positions=batch.positions,
            dropout=dropout,
        )
        return sum_predictions(
            logits,
            jnp.asarray(batch.masked_tokens),
            jnp.asarray(batch.loss_weights),
            jnp.asarray(batch.segments),
            vocab_size=model.config.vocab_size,
            label_smoothing=label_smoothing,
            label_smoothing_formula=label_smoothing_formula,
        )

    return loss_fn


def _make_validation(parts: ValidationParts) -> Validate:
    """Return what predicts the split's hidden tokens, always the same ones.

    Beside it stands what one gets without looking: always the most frequent piece, and
    each piece by its frequency.
    """
    (tokenizer,), (lines,) = parts.tokenizers, parts.lines
    unigram = _unigram(tokenizer.encode(lines))

    def validate(params: Any) -> Mapping[str, float]:
        means = parts.mean_metrics(params)
        names = ("loss", "perplexity", "accuracy")
        return {name: means[name] for name in names} | unigram

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
