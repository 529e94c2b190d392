"""Time and cost of the paper's base run on today's accelerators: estimates."""

import dataclasses

from transformer_jax.config.sections import PAPER_NUM_STEPS, PAPER_TOKENS_PER_BATCH
from transformer_jax.costs.accelerators import find_accelerator
from transformer_jax.reports.render import Report, Row, spaced
from transformer_jax.reports.row_models import paper_flops


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


def make_report() -> Report:
    """Divide the base run's operations by what each machine is assumed to reach."""
    return Report(
        "What the base run costs (estimates)",
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
