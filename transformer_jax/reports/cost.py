"""Time and cost: of the paper's base run on today's accelerators, and of own runs."""

import dataclasses
import math
import os
from collections.abc import Sequence
from typing import Any

from transformer_jax.config.sections import PAPER_NUM_STEPS, PAPER_TOKENS_PER_BATCH
from transformer_jax.costs.accelerators import find_accelerator
from transformer_jax.errors import UserError
from transformer_jax.reports.render import (
    Column,
    Report,
    Row,
    clock,
    decimals,
    one_table,
    percent,
    powers,
    spaced,
)
from transformer_jax.reports.row_models import paper_flops
from transformer_jax.reports.run_cost import run_cost
from transformer_jax.reports.run_summary import RunSummary, read_runs


@dataclasses.dataclass(frozen=True)
class Machine:
    """What one might rent.

    Attributes:
      row: what to call it.
      accelerator: a name in `costs.accelerators`.
      num_devices: how many.
      utilisation: share of the peak that the model's products are assumed to reach.
      dollars_per_device_hour: an assumed round price; prices move, look them up.
    """

    row: str
    accelerator: str
    num_devices: int
    utilisation: float
    dollars_per_device_hour: float


# The utilisations are assumptions, not measurements: large models reach 0.4 and more,
# and a peak is harder to reach with matrices as narrow as the base model's, most of all
# that of the fastest devices.
MACHINES = (
    Machine("TPU v5e-8", "TPU v5e", 8, 0.30, 1.2),
    Machine("8 H100", "H100", 8, 0.20, 3.0),
    Machine("1 H100", "H100", 1, 0.20, 3.0),
    Machine("8 A100", "A100", 8, 0.30, 2.0),
    Machine("1 A100", "A100", 1, 0.30, 2.0),
)
_PRICES = {m.accelerator: m.dollars_per_device_hour for m in MACHINES}
_PRICE = Column(
    "assumed_dollars_per_device_hour", "assumed price, $ a device hour", decimals(2)
)
_COLUMNS = (
    Column("row", "machine"),
    Column("assumed_utilisation", "assumed utilisation of the peak", percent),
    Column("computed_hours", "hours", decimals(2)),
    Column("computed_device_hours", "device hours", decimals(1)),
    _PRICE,
    Column("computed_dollars", "cost, $", decimals(0)),
)
_RUN_COLUMNS = (
    Column("row", "run"),
    Column("measured_steps", "steps done", spaced),
    Column("measured_devices", "trained on"),
    Column("measured_hours", "training time, h:min:s", clock),
    Column("computed_hours", "time of all its steps, h:min:s", clock),
    Column("computed_flops", "training FLOPs by count", powers),
    Column("computed_flops_per_second", "FLOP/s at its median speed", powers),
    Column("computed_utilisation", "utilisation of the peak", percent),
    Column("computed_device_hours", "device hours", decimals(2)),
    _PRICE,
    Column("computed_dollars", "cost, $", decimals(2)),
)
_RUN_NOTES = (
    "Time is of training, waiting for XLA to compile included, up to the last report; "
    "validation and checkpoints come on top.",
    "FLOPs are the model's matrix products, forward and backward, on the real tokens "
    "that it was trained on; a CPU has no peak in our table, and its whole machine is "
    "one device.",
    "Prices are assumed round figures in US dollars for "
    f"{', '.join(_PRICES)}; --dollars_per_device_hour sets the price of any device.",
)


def make_report() -> Report:
    """Divide the base run's operations by what each machine is assumed to reach."""
    return one_table(
        "What the base run costs (estimates)",
        _COLUMNS,
        [_row(machine) for machine in MACHINES],
        (
            f"Estimates, none of them measured: {spaced(PAPER_NUM_STEPS)} steps of "
            f"{spaced(PAPER_TOKENS_PER_BATCH)} + {spaced(PAPER_TOKENS_PER_BATCH)} "
            f"tokens, {paper_flops('base'):.2e} operations by count, divided by "
            "devices x peak x the assumed utilisation. Preparing the data, "
            "validation and checkpoints come on top.",
            "Prices are assumed round figures in US dollars; put in the current ones.",
            "The big model's run has "
            f"{paper_flops('big') / paper_flops('base'):.1f} times the operations.",
            "Training commands: configs/wmt14_ende_base.py, at its top.",
            "What a run of your own costs: "
            "`python -m transformer_jax report cost --workdirs RUN`",
        ),
    )


def _row(machine: Machine) -> Row:
    peak = find_accelerator(machine.accelerator).peak
    rate = machine.num_devices * peak * machine.utilisation
    hours = paper_flops("base") / rate / 3600
    device_hours = hours * machine.num_devices
    return {
        "row": machine.row,
        "assumed_utilisation": machine.utilisation,
        "computed_hours": round(hours, 2),
        "computed_device_hours": round(device_hours, 1),
        "assumed_dollars_per_device_hour": machine.dollars_per_device_hour,
        "computed_dollars": round(device_hours * machine.dollars_per_device_hour, 0),
    }


def report_runs(
    workdirs: Sequence[str | os.PathLike[str]],
    accelerator: str | None = None,
    num_chips: int | None = None,
    dollars_per_device_hour: float | None = None,
) -> Report:
    """Say what runs took: time, operations, and money where a price is known.

    Args:
      workdirs: the runs.
      accelerator: what they were trained on, if not what they wrote down.
      num_chips: how many of them, if not what they wrote down.
      dollars_per_device_hour: the price, if not the assumed one.

    Raises:
      UserError: if one is no run, or its devices are not known or not sold.
    """
    price = dollars_per_device_hour
    if price is not None and not (math.isfinite(price) and price >= 0):
        raise UserError(f"--dollars_per_device_hour={price:g}: expected 0 or more.")
    runs = read_runs(workdirs)
    return one_table(
        "What these runs cost",
        _RUN_COLUMNS,
        [_run_row(run, accelerator, num_chips, price) for run in runs],
        _RUN_NOTES,
    )


def _run_row(
    run: RunSummary,
    accelerator: str | None,
    num_chips: int | None,
    price: float | None,
) -> dict[str, Any]:
    cost = run_cost(run, accelerator, num_chips)
    if price is None and cost.accelerator is not None:
        price = _PRICES.get(cost.accelerator.name)
    num_steps = run.config["training"]["num_steps"]
    hours = None
    if cost.hours is not None and 0 < run.steps < num_steps:
        hours = cost.hours * num_steps / run.steps
    dollars = None
    if cost.device_hours is not None and price is not None:
        dollars = cost.device_hours * price
    return {
        "row": run.name,
        "measured_steps": run.steps,
        "measured_devices": run.describe_hardware() or None,
        "measured_hours": cost.hours,
        "computed_hours": hours,
        "computed_flops": cost.flops,
        "computed_flops_per_second": cost.flops_per_second,
        "computed_utilisation": cost.utilisation,
        "computed_device_hours": cost.device_hours,
        "assumed_dollars_per_device_hour": price,
        "computed_dollars": dollars,
    }
