"""One update, and one batch of evaluation: pure functions, jitted elsewhere."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from transformer_jax.errors import UserError
from transformer_jax.evaluation.means import MetricSums, Ratio
from transformer_jax.models.dropout import DropoutBits, dropout_bits
from transformer_jax.training.optimizer import Schedule
from transformer_jax.training.state import TrainState

Params = Any
# (parameters, batch, dropout) → loss sum, (weight sum, what else is summed): the step
# divides the loss by the weight once, and reports divide the rest.
LossFn = Callable[
    [Params, Any, DropoutBits | None],
    tuple[jax.Array, tuple[jax.Array, MetricSums]],
]


def train_step(
    state: TrainState,
    batch: Any,
    dropout_rng: jax.Array,
    *,
    loss_fn: LossFn,
    optimizer: optax.GradientTransformation,
    schedule: Schedule,
    num_micro_batches: int = 1,
    ema_decay: float | None = None,
) -> tuple[TrainState, MetricSums]:
    """Take one optimizer step on the gradient of `loss_fn` (Section 5.3).

    A gradient that is not finite changes nothing but `step` and `num_skipped`.

    Args:
      state: where training stands; may be donated.
      batch: one global batch, a pytree of arrays [rows, ...]; its rows may be sharded
        over a mesh.
      dropout_rng: the run's dropout key, the same at every step.
      loss_fn: sums of loss, weights and metrics over the rows it is given.
      optimizer: without the learning rate.
      schedule: learning rate after so many updates.
      num_micro_batches: equal parts of the batch that take turns, to save memory.
      ema_decay: of the average of the weights; needs `state.ema_params`.

    Returns:
      The next state, and sums over this step: the loss function's, and `gradient_norm`
      and `skipped`.
    """
    num_rows = jax.tree.leaves(batch)[0].shape[0]
    bits = dropout_bits(jax.random.fold_in(dropout_rng, state.step), num_rows)
    grads, sums = gradients(
        state.params, batch, bits, loss_fn=loss_fn, num_micro_batches=num_micro_batches
    )
    norm = optax.tree.norm(grads)
    updated = _apply(state, grads, optimizer, schedule(state.step), ema_decay)
    is_finite = jnp.isfinite(norm) & jnp.isfinite(sums["loss"].total)
    kept = jax.tree.map(lambda new, old: jnp.where(is_finite, new, old), updated, state)
    skipped = 1 - is_finite.astype(jnp.int32)
    next_state = dataclasses.replace(
        kept, step=state.step + 1, num_skipped=state.num_skipped + skipped
    )
    # What a skipped step saw may be no number and would spoil its neighbours' sums.
    sums = jax.tree.map(lambda total: jnp.where(is_finite, total, 0.0), sums)
    step_sums = {
        "gradient_norm": Ratio(
            jnp.where(is_finite, norm, 0.0), is_finite.astype(jnp.float32)
        ),
        "skipped": skipped.astype(jnp.float32),
    }
    return next_state, {**sums, **step_sums}


def eval_step(params: Any, batch: Any, *, loss_fn: LossFn) -> MetricSums:
    """Sum the metrics of one batch, without dropout."""
    _, (_, sums) = loss_fn(params, batch, None)
    return sums


def gradients(
    params: Any,
    batch: Any,
    bits: DropoutBits,
    *,
    loss_fn: LossFn,
    num_micro_batches: int = 1,
) -> tuple[Any, MetricSums]:
    """Return the gradient of the mean loss over all weights, and the metric sums.

    Gradients of sums are added up and divided once, so neither the number of
    micro-batches or devices nor how tokens are spread over them changes the result.
    """
    compute = jax.grad(loss_fn, has_aux=True)
    if num_micro_batches == 1:
        grads, (weight_sum, sums) = compute(params, batch, bits)
    else:
        parts = (
            _split_rows(batch, num_micro_batches),
            _split_rows(bits.rows, num_micro_batches),
        )

        def add(carry: Any, part: tuple[Any, jax.Array]) -> tuple[Any, None]:
            micro_batch, rows = part
            result = compute(params, micro_batch, dataclasses.replace(bits, rows=rows))
            return jax.tree.map(jnp.add, carry, result), None

        first = jax.tree.map(lambda leaf: leaf[0], parts)
        shapes = jax.eval_shape(
            lambda part: compute(
                params, part[0], dataclasses.replace(bits, rows=part[1])
            ),
            first,
        )
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        (grads, (weight_sum, sums)), _ = jax.lax.scan(add, zeros, parts)
    # A batch of padding alone has weight 0 and gradient 0.
    divisor = jnp.maximum(weight_sum, 1.0)
    return jax.tree.map(lambda grad: grad / divisor, grads), sums


def _split_rows(rows: Any, num_parts: int) -> Any:
    """[rows, ...] → [num_parts, rows / num_parts, ...], part i taking every nth row.

    Every nth row, not blocks: rows lie on the devices in blocks, and so each part has
    its share on each device.
    """

    def split(leaf: jax.Array) -> jax.Array:
        num_rows = leaf.shape[0]
        if num_rows % num_parts:
            raise UserError(
                f"A batch of {num_rows} rows cannot be split into {num_parts} "
                f"micro-batches. Use a number that divides {num_rows}, or let every "
                f"shape have a multiple of {num_parts} rows."
            )
        shape = (num_rows // num_parts, num_parts, *leaf.shape[1:])
        return leaf.reshape(shape).swapaxes(0, 1)  # [num_parts, rows / num_parts, ...]

    return jax.tree.map(split, rows)


def _apply(
    state: TrainState,
    grads: Any,
    optimizer: optax.GradientTransformation,
    learning_rate: jax.Array,
    ema_decay: float | None,
) -> TrainState:
    """Return `state` with new parameters, optimizer state and average."""
    updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
    params = jax.tree.map(
        lambda param, update: param - learning_rate * update, state.params, updates
    )
    ema_params = state.ema_params
    if ema_decay is not None:
        # Not in the paper. Early on the average is short, so that it lets go of the
        # initial weights.
        num_updates = (state.step + 1 - state.num_skipped).astype(jnp.float32)
        decay = jnp.minimum(ema_decay, num_updates / (num_updates + 9.0))
        ema_params = jax.tree.map(
            lambda average, param: average + (1.0 - decay) * (param - average),
            ema_params,
            params,
        )
    return dataclasses.replace(
        state, params=params, opt_state=opt_state, ema_params=ema_params
    )
