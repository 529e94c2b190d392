"""What accelerators can do at most, and what the paper took them to sustain."""

import dataclasses
import re

from transformer_jax.errors import UserError, did_you_mean

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
        """Return the paper's rate, or for later devices a share of the peak."""
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
            f"{', '.join(ACCELERATORS)}.{did_you_mean(name, ACCELERATORS)}"
        )
    return ACCELERATORS[name]


# What JAX calls these, in lower case; the names of other TPUs are its own.
_TPU_KINDS = {"tpu v5 lite": "TPU v5e", "tpu v5": "TPU v5p", "tpu v6 lite": "TPU v6e"}
# Words in a GPU's kind, as "NVIDIA A100-SXM4-40GB", that leave its rate as it is.
_GPU_WORD = re.compile(r"nvidia|tesla|sxm\d?|\d+gb|hbm\d?e?")


def recognise(device_kind: str) -> Accelerator | None:
    """Return the accelerator that JAX calls `device_kind`; None if it is not known.

    A name that holds anything unknown is not guessed at: an H100 NVL is no H100.
    """
    kind = device_kind.lower()
    if kind.startswith("tpu"):
        return ACCELERATORS.get(_TPU_KINDS.get(kind, device_kind))
    words = [word for word in re.split("[ -]", kind) if not _GPU_WORD.fullmatch(word)]
    model, is_pcie = " ".join(word for word in words if word != "pcie"), "pcie" in words
    name = model.upper()
    if is_pcie and f"{name} PCIe" in ACCELERATORS:
        name += " PCIe"
    return ACCELERATORS.get(name)


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
