"""Label-smoothed cross-entropy (Section 5.4)."""

import functools
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp

Formula = Literal["uniform", "others"]


class _Targets(NamedTuple):
    """Smoothed targets: the probability of the truth, of each other of V words."""

    on_truth: float
    elsewhere: float
    vocab_size: int


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
      logits: [..., vocab_width], of any float type; the loss is computed in float32,
        and the gradient has their type. Columns from `vocab_size` on are padding of the
        table and must be masked already to the lowest finite number.
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

    targets = _Targets(on_truth, elsewhere, vocab_size)
    loss, nll = _cross_entropy(logits, target_tokens, targets)
    # Where, not a product: an infinite loss on a position without weight is no loss.
    is_real = loss_weights != 0
    loss_sum = jnp.sum(jnp.where(is_real, loss, 0.0) * loss_weights)
    nll = jax.lax.stop_gradient(nll)
    nll_sum = jnp.sum(jnp.where(is_real, nll, 0.0) * loss_weights)
    return loss_sum, nll_sum, jnp.sum(loss_weights)


# The gradient is written out: differentiating the logarithm of the sum would keep
# exp(logits) for the way back, a second array of [positions, V] in float32.
@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _cross_entropy(
    logits: jax.Array, target_tokens: jax.Array, targets: _Targets
) -> tuple[jax.Array, jax.Array]:
    """Return the smoothed loss, and -log p(truth) without a gradient: float32 [...]."""
    loss, nll, _ = _cross_entropy_parts(logits, target_tokens, targets)
    return loss, nll


def _cross_entropy_parts(
    logits: jax.Array, target_tokens: jax.Array, targets: _Targets
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return loss, -log p(truth) and the log-partition, float32 [...]."""
    truth = jnp.take_along_axis(logits, target_tokens[..., None], axis=-1)
    truth = truth[..., 0].astype(jnp.float32)
    logits = logits.astype(jnp.float32)
    log_partition = jax.nn.logsumexp(logits, axis=-1)
    # The targets sum to one, so the cross-entropy is the log-partition less the mean
    # logit under the targets: no array of targets.
    total = jnp.sum(logits[..., : targets.vocab_size], axis=-1)
    loss = log_partition - (targets.on_truth - targets.elsewhere) * truth
    return loss - targets.elsewhere * total, log_partition - truth, log_partition


def _cross_entropy_forward(
    logits: jax.Array, target_tokens: jax.Array, targets: _Targets
) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array, jax.Array]]:
    loss, nll, log_partition = _cross_entropy_parts(logits, target_tokens, targets)
    return (loss, nll), (logits, target_tokens, log_partition)


def _cross_entropy_backward(
    targets: _Targets,
    kept: tuple[jax.Array, jax.Array, jax.Array],
    cotangents: tuple[jax.Array, jax.Array],
) -> tuple[jax.Array, None]:
    """Return the gradient of the logits: softmax(logits) - targets."""
    logits, target_tokens, log_partition = kept
    ids = jax.lax.broadcasted_iota(jnp.int32, logits.shape, logits.ndim - 1)
    wanted = jnp.where(
        ids == target_tokens[..., None],
        targets.on_truth,
        jnp.where(ids < targets.vocab_size, targets.elsewhere, 0.0),
    )
    predicted = jnp.exp(logits.astype(jnp.float32) - log_partition[..., None])
    gradient = (predicted - wanted) * cotangents[0][..., None]
    return gradient.astype(logits.dtype), None


_cross_entropy.defvjp(_cross_entropy_forward, _cross_entropy_backward)
