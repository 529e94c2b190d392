"""What models are trained towards: the next pieces of a target (5.4), or others."""

import jax
import jax.numpy as jnp

from transformer_jax.data.batch import Batch
from transformer_jax.evaluation.means import MetricSums, Ratio
from transformer_jax.models.dropout import DropoutBits
from transformer_jax.models.interface import TranslationModel
from transformer_jax.training.losses import Formula, smoothed_cross_entropy
from transformer_jax.training.step import LossFn, Params


def translation_objective(
    model: TranslationModel,
    *,
    label_smoothing: float,
    label_smoothing_formula: Formula = "uniform",
) -> LossFn:
    """Teach a model each next target token (Section 5.4).

    Args:
      model: what learns.
      label_smoothing: eps of the smoothed targets.
      label_smoothing_formula: where eps goes; see `smoothed_cross_entropy`.

    Returns:
      A loss function; without dropout bits it is deterministic. It sums, over target
      pieces with EOS: loss (smoothed) and nll (not smoothed), in nats, and accuracy,
      the share of pieces that no other is above; over all positions, padding_share; and
      it counts real source_tokens and target_tokens.
    """

    def loss_fn(
        params: Params, batch: Batch, dropout: DropoutBits | None
    ) -> tuple[jax.Array, tuple[jax.Array, MetricSums]]:
        logits = jnp.asarray(
            model.apply(
                {"params": params},
                batch.source_tokens,
                batch.decoder_input_tokens,
                source_segments=batch.source_segments,
                target_segments=batch.target_segments,
                source_positions=batch.source_positions,
                target_positions=batch.target_positions,
                dropout=dropout,
            )
        )
        truths, weights = map(jnp.asarray, (batch.target_tokens, batch.loss_weights))
        loss_sum, nll_sum, weight_sum = smoothed_cross_entropy(
            logits,
            truths,
            weights,
            label_smoothing=label_smoothing,
            vocab_size=model.config.target_vocab_size,
            label_smoothing_formula=label_smoothing_formula,
        )
        source, target = batch.source_segments, batch.target_segments
        num_source = jnp.sum(source != 0, dtype=jnp.float32)
        num_positions = jnp.float32(source.size + target.size)
        num_padding = num_positions - (num_source + weight_sum)
        sums = {
            "loss": Ratio(loss_sum, weight_sum),
            "nll": Ratio(nll_sum, weight_sum),
            "accuracy": Ratio(_num_correct(logits, truths, weights), weight_sum),
            "padding_share": Ratio(num_padding, num_positions),
            "source_tokens": num_source,
            "target_tokens": weight_sum,
        }
        return loss_sum, (weight_sum, sums)

    return loss_fn


def sum_predictions(
    logits: jax.Array,
    truths: jax.Array,
    weights: jax.Array,
    segments: jax.Array,
    *,
    vocab_size: int,
    label_smoothing: float,
    label_smoothing_formula: Formula,
) -> tuple[jax.Array, tuple[jax.Array, MetricSums]]:
    """Sum the loss of predictions about rows of text, as an objective returns it.

    Args:
      logits: [batch, places, vocab_width].
      truths: [batch, places] int32.
      weights: [batch, places] float32; 0 where nothing is predicted.
      segments: [batch, length] of the text; 0 on padding.
      vocab_size: number of things that may be predicted.
      label_smoothing: as `smoothed_cross_entropy` has it.
      label_smoothing_formula: likewise.

    Returns:
      loss_sum: with a gradient.
      weight_sum and sums: over predictions, loss (smoothed) and nll, in nats, and
        accuracy; over all positions, padding_share; the numbers of real tokens and of
        predictions.
    """
    loss_sum, nll_sum, weight_sum = smoothed_cross_entropy(
        logits,
        truths,
        weights,
        label_smoothing=label_smoothing,
        label_smoothing_formula=label_smoothing_formula,
        vocab_size=vocab_size,
    )
    num_tokens = jnp.sum(segments != 0, dtype=jnp.float32)
    num_positions = jnp.float32(segments.size)
    sums = {
        "loss": Ratio(loss_sum, weight_sum),
        "nll": Ratio(nll_sum, weight_sum),
        "accuracy": Ratio(_num_correct(logits, truths, weights), weight_sum),
        "padding_share": Ratio(num_positions - num_tokens, num_positions),
        "tokens": num_tokens,
        "predictions": weight_sum,
    }
    return loss_sum, (weight_sum, sums)


def _num_correct(
    logits: jax.Array, target_tokens: jax.Array, loss_weights: jax.Array
) -> jax.Array:
    """Weigh the positions whose truth has no word above it.

    A maximum, not an argmax: the loss needs the maximum anyway.
    """
    logits = jax.lax.stop_gradient(logits)
    truth = jnp.take_along_axis(logits, target_tokens[..., None], axis=-1)
    is_correct = truth[..., 0] >= jnp.max(logits, axis=-1)
    return jnp.sum(is_correct * loss_weights)
