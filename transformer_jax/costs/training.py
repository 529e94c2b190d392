"""What a training cost, by what was written down of it."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from transformer_jax.costs.accelerators import (
    Accelerator,
    find_accelerator,
    recognise,
    sustained_flops,
)
from transformer_jax.costs.flops import SENTENCE_LENGTH, training_flops
from transformer_jax.errors import UserError
from transformer_jax.models.interface import TranslationModel


@dataclasses.dataclass(frozen=True)
class Usage:
    """What a training went through.

    Attributes:
      source_tokens: pieces of the source side that were trained on.
      target_tokens: of the target side.
      seconds: of training, validation and saves left out; None if nobody counted.
      target_tokens_per_second: at its usual speed; None likewise.
      hardware: what it was trained on, in order, as `RUN/hardware.json` has it.
    """

    source_tokens: float
    target_tokens: float
    seconds: float | None
    target_tokens_per_second: float | None
    hardware: Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Cost:
    """What it cost; None where that is not known.

    Attributes:
      flops: operations of the model's matrix products, forward and backward.
      flops_by_time: time x devices x sustained rate, the paper's way.
      utilisation: product operations a second over the devices' peak.
    """

    flops: float
    flops_by_time: float | None = None
    utilisation: float | None = None


def training_cost(
    model: TranslationModel,
    usage: Usage,
    accelerator: str | None = None,
    num_chips: int | None = None,
) -> Cost:
    """Count what a training's updates cost, and how well they used their devices.

    Args:
      model: that was trained.
      usage: what it went through.
      accelerator: what it was trained on, if not what was written down.
      num_chips: how many of them, if not what was written down.

    Raises:
      UserError: if there is no such accelerator, or its number is not known.
    """
    flops = usage.target_tokens and training_flops(
        model,
        source_tokens=usage.source_tokens,
        target_tokens=usage.target_tokens,
        sentence_length=SENTENCE_LENGTH,
    )
    device, number = _devices(usage, accelerator, num_chips)
    by_time = utilisation = None
    if device is not None and usage.seconds is not None:
        by_time = sustained_flops(usage.seconds, number, device)
    if device is not None and usage.target_tokens_per_second is not None:
        achieved = usage.target_tokens_per_second * flops / usage.target_tokens
        utilisation = achieved / (number * device.peak)
    return Cost(flops, by_time, utilisation)


def _devices(
    usage: Usage, accelerator: str | None, num_chips: int | None
) -> tuple[Accelerator | None, float]:
    """Return what was trained on, and how many: as given, or as written down.

    A training that changed its devices on the way has no one answer.
    """
    if num_chips is not None and num_chips < 1:
        raise UserError(f"--num_chips={num_chips}: expected at least 1.")
    used = {(entry["device_kind"], entry["num_devices"]) for entry in usage.hardware}
    kind, num_jax_devices = used.pop() if len(used) == 1 else ("", 0)
    device = find_accelerator(accelerator) if accelerator else recognise(kind)
    if device is None or num_chips is not None:
        return device, num_chips or 0
    if not num_jax_devices:
        raise UserError(
            "The run has not written down how many devices it used, or used different "
            "ones. Give --num_chips."
        )
    return device, num_jax_devices / device.num_jax_devices
