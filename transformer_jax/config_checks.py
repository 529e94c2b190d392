"""Values of a config that cannot work, alone or together, found before any work."""

import logging

import jax
import ml_collections

from transformer_jax.errors import UserError

_LOGGER = logging.getLogger(__name__)
_FORMULAS = ("uniform", "others")


def check_config(config: ml_collections.ConfigDict) -> None:
    """Refuse what is sure to fail, and warn of what is sure to disappoint.

    Raises:
      UserError: names the fields, what they may be, and what to do.
    """
    training, optimizer = config.training, config.optimizer
    _require_share("training.label_smoothing", training.label_smoothing)
    _require_share("optimizer.ema_decay", optimizer.ema_decay)
    _require_share("optimizer.beta1", optimizer.beta1)
    _require_share("optimizer.beta2", optimizer.beta2)
    _require_at_least("training.num_steps", training.num_steps, 1)
    _require_at_least("training.num_micro_batches", training.num_micro_batches, 1)
    _require_at_least("data.tokenizer_sentences", config.data.tokenizer_sentences, 2)
    if training.label_smoothing_formula not in _FORMULAS:
        raise UserError(
            "config.training.label_smoothing_formula="
            f"{training.label_smoothing_formula!r} is unknown. Use one of "
            f"{', '.join(_FORMULAS)}."
        )
    _check_positions(config)
    _check_rows(config)
    falls = optimizer.schedule in ("cosine", "linear")
    if falls and training.num_steps > optimizer.decay_steps:
        _LOGGER.warning(
            "The %s schedule ends at config.optimizer.decay_steps=%d; the steps from "
            "there to config.training.num_steps=%d train at its last learning rate.",
            optimizer.schedule,
            optimizer.decay_steps,
            training.num_steps,
        )


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


def _require_share(field: str, value: float) -> None:
    if not 0 <= value < 1:
        raise UserError(f"config.{field}={value}: expected at least 0 and below 1.")


def _require_at_least(field: str, value: int, least: int) -> None:
    if value < least:
        raise UserError(f"config.{field}={value}: expected at least {least}.")


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
