"""Values of a config that cannot work, alone or together, found before any work."""

import functools
import logging

import jax
import ml_collections

from transformer_jax.errors import UserError

_LOGGER = logging.getLogger(__name__)
_FORMULAS = ("uniform", "others")
# Tokens on each side of an update (Section 5.1), and the warm-up made for them (5.3).
_PAPER_TOKENS_PER_BATCH = 25_000
_PAPER_WARMUP_STEPS = 4_000
# Fields that are shares of something, and the least value of others.
_SHARES = (
    "training.label_smoothing",
    "optimizer.ema_decay",
    "optimizer.beta1",
    "optimizer.beta2",
)
_LEAST = {
    "training.num_steps": 1,
    "training.num_micro_batches": 1,
    "training.patience": 0,
    "training.max_skipped_updates": 1,
    "training.log_every_steps": 0,
    "data.tokenizer_sentences": 2,
    "data.tokens_per_batch": 1,
    "data.max_batch_shapes": 1,
    "data.row_multiple": 1,
    "data.max_length": 2,
    "data.max_length_ratio": 0,
    "data.num_workers": 1,
    "optimizer.warmup_steps": 0,
    "optimizer.decay_steps": 1,
    "optimizer.max_gradient_norm": 0,
    "decoding.tokens_per_batch": 1,
    "evaluation.every_steps": 0,
    "checkpoints.every_steps": 0,
    "checkpoints.every_minutes": 0,
    "checkpoints.keep_weights": 1,
    "sharding.data": 0,
}


def check_config(config: ml_collections.ConfigDict) -> None:
    """Refuse what is sure to fail, and warn of what is sure to disappoint.

    Raises:
      UserError: names the fields, what they may be, and what to do.
    """
    training = config.training
    for field in _SHARES:
        value = _value(config, field)
        if not 0 <= value < 1:
            raise UserError(f"config.{field}={value}: expected at least 0 and below 1.")
    for field, least in _LEAST.items():
        value = _value(config, field)
        if value < least:
            raise UserError(f"config.{field}={value}: expected at least {least}.")
    if training.label_smoothing_formula not in _FORMULAS:
        raise UserError(
            "config.training.label_smoothing_formula="
            f"{training.label_smoothing_formula!r} is unknown. Use one of "
            f"{', '.join(_FORMULAS)}."
        )
    _check_positions(config)
    _check_rows(config)
    _warn_of_batch_size(config)
    _warn_of_length(config)


def choose_devices(config: ml_collections.ConfigDict) -> list[jax.Device]:
    """Return the devices that share the rows of a batch, as `config.sharding` says.

    Raises:
      UserError: if there are fewer.
    """
    devices = jax.devices()
    if config.sharding.data > len(devices):
        raise UserError(
            f"config.sharding.data={config.sharding.data}, but there are "
            f"{len(devices)} devices. Use 0 for all of them."
        )
    return devices[: config.sharding.data or None]


def _value(config: ml_collections.ConfigDict, field: str) -> float:
    return functools.reduce(getattr, field.split("."), config)


def _check_positions(config: ml_collections.ConfigDict) -> None:
    rows, longest = config.model.max_positions, config.data.max_length
    if config.model.positions == "learned" and rows < longest:
        raise UserError(
            f"config.model.max_positions={rows} is below config.data.max_length="
            f"{longest}: the ends of long sentences would have no position. Raise the "
            "one or lower the other."
        )


def _check_rows(config: ml_collections.ConfigDict) -> None:
    num_devices = len(choose_devices(config))
    num_parts = num_devices * config.training.num_micro_batches
    if config.data.row_multiple % num_parts:
        raise UserError(
            f"config.data.row_multiple={config.data.row_multiple} cannot be split over "
            f"{num_devices} devices (config.sharding.data) times "
            f"{config.training.num_micro_batches} config.training.num_micro_batches. "
            f"Use a multiple of {num_parts}, or fewer devices or parts."
        )


def _warn_of_batch_size(config: ml_collections.ConfigDict) -> None:
    """Warn of the paper's schedule on batches far from the paper's.

    A smaller batch has a noisier gradient and needs smaller steps. Not a word where the
    peak, which goes with factor * warmup_steps^-0.5, was already moved the right way.
    """
    optimizer, num_tokens = config.optimizer, config.data.tokens_per_batch
    size = num_tokens / _PAPER_TOKENS_PER_BATCH
    if optimizer.schedule != "paper" or 0.5 <= size <= 2:
        return
    stretch = (_PAPER_WARMUP_STEPS / max(optimizer.warmup_steps, 1)) ** 0.5
    peak = optimizer.learning_rate_factor * stretch
    if peak < 1 if size < 1 else peak > 1:
        return
    change, warmup = ("lower", "longer") if size < 1 else ("higher", "shorter")
    _LOGGER.warning(
        "The paper's schedule was made for %d tokens an update (Section 5.1), and "
        "config.data.tokens_per_batch=%d. Use a %s "
        "config.optimizer.learning_rate_factor, a %s config.optimizer.warmup_steps (%d "
        "updates see as many tokens as the paper's %d), or another "
        "config.optimizer.schedule.",
        _PAPER_TOKENS_PER_BATCH,
        num_tokens,
        change,
        warmup,
        round(_PAPER_WARMUP_STEPS / size),
        _PAPER_WARMUP_STEPS,
    )


def _warn_of_length(config: ml_collections.ConfigDict) -> None:
    """Warn of a training that ends before its schedule does, or long after."""
    optimizer, num_steps = config.optimizer, config.training.num_steps
    if optimizer.warmup_steps >= num_steps:
        _LOGGER.warning(
            "config.optimizer.warmup_steps=%d is not below config.training.num_steps="
            "%d: the learning rate rises to the end. Warm up for fewer steps.",
            optimizer.warmup_steps,
            num_steps,
        )
    if optimizer.schedule not in ("cosine", "linear"):
        return
    last = optimizer.peak_learning_rate * optimizer.final_share
    if num_steps != optimizer.decay_steps:
        _LOGGER.warning(
            "The %s schedule ends at config.optimizer.decay_steps=%d, training at "
            "config.training.num_steps=%d: %s. Give both the same number in a new run.",
            optimizer.schedule,
            optimizer.decay_steps,
            num_steps,
            f"the steps from there on keep its last learning rate, {last:g}"
            if num_steps > optimizer.decay_steps
            else "its lowest learning rates are never reached",
        )
