"""What accelerators can do at most, and what the paper took them to sustain."""

import dataclasses

from transformer_jax.errors import UserError

# Not in the paper and not measured here; usual for dense models on later devices.
ASSUMED_UTILISATION = 0.4

_PAPER = "sustained: paper, Section 6.1, footnote 5"
# Peaks of GPUs are at the boost clock, and dense where data sheets count sparsity.
_BOARD = "NVIDIA Tesla K80 board, half of its 8.74 TFLOP/s"
_WHITE_PAPER = "NVIDIA Tesla V100 architecture white paper, table 1"
_DATA_SHEET = "NVIDIA data sheet"
_HALVED = "NVIDIA data sheet, half of its rate with sparsity"


def _google(page: str) -> str:
    return f"docs.cloud.google.com/tpu/docs/{page}, per chip"


@dataclasses.dataclass(frozen=True)
class Accelerator:
    """One chip; of a board with two, such as a K80, one of them.

    Attributes:
      name: as the reports call it.
      peak: FLOP/s of matrix products at most, in `precision`.
      precision: what `peak` is for.
      source: where the rates come from.
      paper_sustained: FLOP/s that the paper takes it to sustain in float32; None where
        the paper says nothing.
      num_jax_devices: how many devices it is to JAX, which counts cores.
    """

    name: str
    peak: float
    precision: str
    source: str
    paper_sustained: float | None = None
    num_jax_devices: int = 1

    @property
    def sustained(self) -> float:
        """The paper's rate, or an assumed share of the peak for later devices."""
        return self.paper_sustained or ASSUMED_UTILISATION * self.peak


ACCELERATORS = {
    accelerator.name: accelerator
    for accelerator in (
        Accelerator("K80", 4.37e12, "float32", f"{_BOARD}; {_PAPER}", 2.8e12),
        Accelerator("K40", 5.0e12, "float32", f"{_WHITE_PAPER}; {_PAPER}", 3.7e12),
        Accelerator("M40", 6.8e12, "float32", f"{_WHITE_PAPER}; {_PAPER}", 6.0e12),
        Accelerator("P100", 10.6e12, "float32", f"{_WHITE_PAPER}; {_PAPER}", 9.5e12),
        Accelerator("V100", 125e12, "float16", _WHITE_PAPER),
        Accelerator("A100", 312e12, "bfloat16", _DATA_SHEET),
        Accelerator("H100", 989e12, "bfloat16", f"{_HALVED}, SXM"),
        Accelerator("H100 PCIe", 756e12, "bfloat16", _HALVED),
        Accelerator("H200", 989e12, "bfloat16", f"{_HALVED}, SXM"),
        Accelerator(
            "TPU v2",
            45e12,
            "bfloat16",
            "Google, 180 TFLOP/s for four chips",
            num_jax_devices=2,
        ),
        Accelerator("TPU v3", 123e12, "bfloat16", _google("v3"), num_jax_devices=2),
        Accelerator("TPU v4", 275e12, "bfloat16", _google("v4")),
        Accelerator("TPU v5e", 197e12, "bfloat16", _google("v5e")),
        Accelerator("TPU v5p", 459e12, "bfloat16", _google("v5p")),
        Accelerator("TPU v6e", 918e12, "bfloat16", _google("v6e")),
    )
}


def find_accelerator(name: str) -> Accelerator:
    """Return the accelerator called `name`.

    Raises:
      UserError: if there is none.
    """
    if name not in ACCELERATORS:
        raise UserError(
            f"There is no accelerator {name!r} in the table. Choose one of "
            f"{', '.join(ACCELERATORS)}."
        )
    return ACCELERATORS[name]


# What JAX calls a device, where that does not hold the name in the table.
_KINDS = {"TPU v5 lite": "TPU v5e", "TPU v5": "TPU v5p", "TPU v6 lite": "TPU v6e"}


def recognise(device_kind: str) -> Accelerator | None:
    """Return the accelerator that JAX calls `device_kind`; None if it is not known."""
    named = [name for name in ACCELERATORS if name in device_kind]
    # The longest: an H100 PCIe is not an H100.
    name = _KINDS.get(device_kind) or max(named, key=len, default=None)
    return None if name is None else ACCELERATORS[name]


def sustained_flops(
    seconds: float, num_devices: float, accelerator: Accelerator
) -> float:
    """Estimate a training's cost as the paper does: time x devices x sustained rate.

    Args:
      seconds: how long it took.
      num_devices: how many devices it took.
      accelerator: which.

    Returns:
      Floating point operations.
    """
    return seconds * num_devices * accelerator.sustained
