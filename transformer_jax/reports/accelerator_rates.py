"""The rates that training costs are counted with, and where they come from."""

from transformer_jax.costs.accelerators import ACCELERATORS, ASSUMED_UTILISATION
from transformer_jax.reports.render import Column, Report, decimals, one_table, percent

_COLUMNS = (
    Column("row", "accelerator"),
    Column("peak_tflops", "peak, TFLOP/s", decimals(2)),
    Column("precision", "precision of the peak"),
    Column("paper_sustained_tflops", "sustained by the paper, TFLOP/s", decimals(1)),
    Column("computed_sustained_tflops", "sustained as counted, TFLOP/s", decimals(1)),
    Column("source", "source"),
)


def make_report() -> Report:
    """List every accelerator that costs can be counted for."""
    return one_table(
        "Accelerators",
        _COLUMNS,
        [
            {
                "row": accelerator.name,
                "peak_tflops": _tera(accelerator.peak),
                "precision": accelerator.precision,
                "paper_sustained_tflops": _tera(accelerator.paper_sustained),
                "computed_sustained_tflops": _tera(accelerator.sustained),
                "source": accelerator.source,
            }
            for accelerator in ACCELERATORS.values()
        ],
        (
            "Rates are of matrix products.",
            "Training FLOPs the paper's way are time x devices x the sustained rate. "
            "For devices later than the paper's that is an assumed "
            f"{percent(ASSUMED_UTILISATION)} of the peak.",
        ),
    )


def _tera(rate: float | None) -> float | None:
    return None if rate is None else round(rate / 1e12, 2)
