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
from transformer_jax.costs.flops import (
    SENTENCE_LENGTH,
    text_training_flops,
    training_flops,
)
from transformer_jax.errors import UserError
from transformer_jax.models.bert import Bert
from transformer_jax.models.interface import TranslationModel


@dataclasses.dataclass(frozen=True)
class Usage:
    """What a training went through.

    Attributes:
      source_tokens: pieces of the source side that were trained on.
      target_tokens: of the target side; None where a task counts others.
      tokens: of a task of single texts.
      predictions: places that such a task predicted.
      seconds: of training, validation and saves left out; None if nobody counted.
      tokens_per_second: of the target or of texts, at its usual speed; None likewise.
      hardware: what it was trained on, in order, as `RUN/hardware.json` has it.
      text_length: pieces of a single text; it decides attention's quadratic part.
    """

    source_tokens: float | None
    target_tokens: float | None
    tokens: float | None
    predictions: float | None
    seconds: float | None
    tokens_per_second: float | None
    hardware: Sequence[Mapping[str, Any]]
    text_length: float = SENTENCE_LENGTH


@dataclasses.dataclass(frozen=True)
class Cost:
    """What it cost; None where that is not known.

    Attributes:
      accelerator: what it was trained on.
      hours: of training.
      device_hours: hours x devices; of CPUs, hosts are counted.
      flops: operations of the model's matrix products, forward and backward.
      flops_per_second: of them, at the training's usual speed.
      flops_by_time: time x devices x sustained rate, the paper's way.
      utilisation: `flops_per_second` over the devices' peak.
    """

    accelerator: Accelerator | None = None
    hours: float | None = None
    device_hours: float | None = None
    flops: float | None = None
    flops_per_second: float | None = None
    flops_by_time: float | None = None
    utilisation: float | None = None


def training_cost(
    model: TranslationModel | Bert,
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
    device, number = _devices(usage, accelerator, num_chips)
    rate = by_time = utilisation = hours = device_hours = None
    tokens = usage.tokens or usage.target_tokens
    flops = _count_flops(model, usage)
    if flops and tokens and usage.tokens_per_second is not None:
        rate = usage.tokens_per_second * flops / tokens
    if usage.seconds is not None:
        hours = usage.seconds / 3600
        device_hours = hours * number if number else None
        if device is not None:
            by_time = sustained_flops(usage.seconds, number, device)
    if device is not None and rate is not None:
        utilisation = rate / (number * device.peak)
    return Cost(device, hours, device_hours, flops, rate, by_time, utilisation)


def _count_flops(model: TranslationModel | Bert, usage: Usage) -> float | None:
    if isinstance(model, Bert):
        if not usage.tokens or not usage.predictions:
            return None
        return text_training_flops(
            model,
            tokens=usage.tokens,
            predictions=usage.predictions,
            sentence_length=usage.text_length,
        )
    if not usage.source_tokens or not usage.target_tokens:
        return None
    return training_flops(
        model,
        source_tokens=usage.source_tokens,
        target_tokens=usage.target_tokens,
        sentence_length=SENTENCE_LENGTH,
    )


def _devices(
    usage: Usage, accelerator: str | None, num_chips: int | None
) -> tuple[Accelerator | None, float]:
    """Return what was trained on, and how many: as given, or as written down.

    A training that changed its devices on the way has no one answer: 0 of them.
    """
    if num_chips is not None and num_chips < 1:
        raise UserError(f"--num_chips={num_chips}: expected at least 1.")
    used = {
        (entry["device_kind"], entry["num_devices"], entry.get("num_hosts", 1))
        for entry in usage.hardware
    }
    kind, num_jax_devices, num_hosts = used.pop() if len(used) == 1 else ("", 0, 0)
    device = find_accelerator(accelerator) if accelerator else recognise(kind)
    if num_chips is not None:
        return device, num_chips
    if device is None:
        return None, num_hosts if kind == "cpu" else num_jax_devices
    if not num_jax_devices:
        raise UserError(
            "The run has not written down how many devices it used, or used different "
            "ones. Give --num_chips."
        )
    return device, num_jax_devices / device.num_jax_devices
