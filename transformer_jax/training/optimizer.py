"""Adam and the learning-rate schedules (Section 5.3).

A schedule takes the number of finished updates, so the first update asks for step 0 and
gets the paper's rate of step 1.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax

from transformer_jax.errors import UserError

Schedule = Callable[[jax.Array | int], jax.Array]


def paper_schedule(d_model: int, warmup_steps: int) -> Schedule:
    """d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)."""
    _check_warmup("paper", warmup_steps, at_least=1)

    def learning_rate(num_updates: jax.Array | int) -> jax.Array:
        step = _first_is_one(num_updates)
        return d_model**-0.5 * jnp.minimum(step**-0.5, step * warmup_steps**-1.5)

    return learning_rate


def inverse_sqrt(peak_learning_rate: float, warmup_steps: int) -> Schedule:
    """Rise linearly to the peak at `warmup_steps`, then fall with the step's root."""
    _check_warmup("inverse_sqrt", warmup_steps, at_least=1)

    def learning_rate(num_updates: jax.Array | int) -> jax.Array:
        step = _first_is_one(num_updates)
        return peak_learning_rate * jnp.minimum(
            step / warmup_steps, (warmup_steps / step) ** 0.5
        )

    return learning_rate


def cosine(
    peak_learning_rate: float,
    warmup_steps: int,
    num_steps: int,
    final_fraction: float = 0.0,
) -> Schedule:
    """Rise linearly to the peak, then fall on half a cosine to a fraction of it."""
    _check_warmup("cosine", warmup_steps, before=num_steps)
    decay = optax.cosine_decay_schedule(
        peak_learning_rate, num_steps - warmup_steps, final_fraction
    )
    return _after_warmup(peak_learning_rate, warmup_steps, decay)


def linear(
    peak_learning_rate: float,
    warmup_steps: int,
    num_steps: int,
    final_fraction: float = 0.0,
) -> Schedule:
    """Rise linearly to the peak, then fall linearly to a fraction of it."""
    _check_warmup("linear", warmup_steps, before=num_steps)
    decay = optax.linear_schedule(
        peak_learning_rate,
        peak_learning_rate * final_fraction,
        num_steps - warmup_steps,
    )
    return _after_warmup(peak_learning_rate, warmup_steps, decay)


def constant(peak_learning_rate: float, warmup_steps: int = 0) -> Schedule:
    """Rise linearly to the peak, then stay."""
    _check_warmup("constant", warmup_steps)
    return _after_warmup(
        peak_learning_rate, warmup_steps, optax.constant_schedule(peak_learning_rate)
    )


def _first_is_one(num_updates: jax.Array | int) -> jax.Array:
    """Return the update that comes after `num_updates`, counted from one."""
    return jnp.asarray(num_updates, jnp.float32) + 1.0


def _after_warmup(peak: float, warmup_steps: int, decay: optax.Schedule) -> Schedule:
    """Join a linear rise from zero and `decay`, and count updates from one."""
    rise = optax.linear_schedule(0.0, peak, max(warmup_steps, 1))
    joined = optax.join_schedules([rise, decay], [warmup_steps])
    return lambda num_updates: jnp.asarray(joined(_first_is_one(num_updates)))


def _check_warmup(
    name: str, warmup_steps: int, at_least: int = 0, before: int | None = None
) -> None:
    if warmup_steps < at_least:
        raise UserError(
            f"The {name} schedule needs warmup_steps of at least {at_least}, got "
            f"{warmup_steps}."
        )
    if before is not None and warmup_steps >= before:
        raise UserError(
            f"warmup_steps={warmup_steps} leaves the {name} schedule no step of "
            f"num_steps={before} to fall in. Use fewer warm-up steps or more steps."
        )


@dataclasses.dataclass(frozen=True)
class ScheduleSettings:
    """Everything that some schedule needs; each reads only its own part.

    Attributes:
      schedule: one of SCHEDULES.
      d_model: width of the model ("paper").
      warmup_steps: steps of the linear rise (all).
      num_steps: length of the training ("cosine", "linear").
      peak_learning_rate: the highest (all but "paper").
      final_fraction: of the peak, at the end ("cosine", "linear").
      factor: multiplies whatever the schedule says.
    """

    schedule: str
    d_model: int
    warmup_steps: int
    num_steps: int
    peak_learning_rate: float
    final_fraction: float
    factor: float


SCHEDULES: dict[str, Callable[[ScheduleSettings], Schedule]] = {
    "paper": lambda s: paper_schedule(s.d_model, s.warmup_steps),
    "inverse_sqrt": lambda s: inverse_sqrt(s.peak_learning_rate, s.warmup_steps),
    "cosine": lambda s: cosine(
        s.peak_learning_rate, s.warmup_steps, s.num_steps, s.final_fraction
    ),
    "linear": lambda s: linear(
        s.peak_learning_rate, s.warmup_steps, s.num_steps, s.final_fraction
    ),
    "constant": lambda s: constant(s.peak_learning_rate, s.warmup_steps),
}


def make_schedule(settings: ScheduleSettings) -> Schedule:
    """Build the schedule that `settings` name, times their factor."""
    if settings.schedule not in SCHEDULES:
        raise UserError(
            f"There is no learning-rate schedule {settings.schedule!r}. Use one of "
            f"{', '.join(SCHEDULES)}."
        )
    schedule = SCHEDULES[settings.schedule](settings)
    return lambda num_updates: settings.factor * schedule(num_updates)


def make_optimizer(
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    clip_norm: float = 0.0,
    weight_decay: float = 0.0,
) -> optax.GradientTransformation:
    """Adam (Section 5.3) without the learning rate, which the step multiplies in.

    Args:
      beta1: decay of the gradient's mean.
      beta2: decay of the squared gradient's mean.
      epsilon: added to the root of the squared gradient's mean.
      clip_norm: largest norm of all gradients together; 0 (the paper) clips nothing.
      weight_decay: times the learning rate, the share of each parameter that every
        update takes away, but for biases and norms (AdamW: Loshchilov and Hutter 2019);
        0 (the paper) takes nothing.
    """
    parts = []
    if clip_norm:
        parts.append(optax.clip_by_global_norm(clip_norm))
    parts.append(optax.scale_by_adam(b1=beta1, b2=beta2, eps=epsilon))
    if weight_decay:
        parts.append(optax.add_decayed_weights(weight_decay, mask=_is_decayed))
    return optax.chain(*parts)


def _is_decayed(params: Any) -> Any:
    """Tell which parameters decay: not those that only shift or scale a feature."""

    def is_decayed(path: Sequence[Any], _: Any) -> bool:
        name = path[-1].key
        return name != "scale" and not name.endswith("bias")

    return jax.tree_util.tree_map_with_path(is_decayed, params)
