"""What a batch is trained towards: batch → loss sum, weight sum, metric sums."""

from collections.abc import Callable, Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from transformer_jax.data.batch import Batch
from transformer_jax.models.dropout import DropoutBits
from transformer_jax.training.losses import Formula, smoothed_cross_entropy

Params = Any
MetricSums = Mapping[str, jax.Array]
LossFn = Callable[
    [Params, Batch, DropoutBits | None],
    tuple[jax.Array, tuple[jax.Array, MetricSums]],
]


def translation_objective(
    model: nn.Module, *, label_smoothing: float, formula: Formula = "uniform"
) -> LossFn:
    """Teach a model each next target token (Section 5.4).

    Args:
      model: takes source and decoder input tokens with their segments and positions,
        and has `config.target_vocab_size`.
      label_smoothing: eps of the smoothed targets.
      formula: where eps goes; see `smoothed_cross_entropy`.

    Returns:
      A loss function; without dropout bits it is deterministic.
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
        loss_sum, nll_sum, weight_sum = smoothed_cross_entropy(
            logits,
            jnp.asarray(batch.target_tokens),
            jnp.asarray(batch.loss_weights),
            label_smoothing=label_smoothing,
            vocab_size=model.config.target_vocab_size,
            formula=formula,
        )
        sums = {
            "loss": loss_sum,
            "nll": nll_sum,
            "correct": _num_correct(logits, batch),
            **_token_counts(batch),
        }
        return loss_sum, (weight_sum, sums)

    return loss_fn


def _num_correct(logits: jax.Array, batch: Batch) -> jax.Array:
    """Weigh the positions whose truth has no word above it.

    A maximum, not an argmax: the loss needs the maximum anyway.
    """
    logits = jax.lax.stop_gradient(logits)
    truth = jnp.take_along_axis(logits, batch.target_tokens[..., None], axis=-1)
    is_correct = truth[..., 0] >= jnp.max(logits, axis=-1)
    return jnp.sum(is_correct * batch.loss_weights)


def _token_counts(batch: Batch) -> dict[str, jax.Array]:
    """Count real tokens of both sides, and all positions, padding included."""
    source, target = batch.source_segments, batch.target_segments
    return {
        "source_tokens": jnp.sum(source != 0, dtype=jnp.float32),
        "target_tokens": jnp.sum(batch.loss_weights),
        "positions": jnp.float32(source.size + target.size),
    }
