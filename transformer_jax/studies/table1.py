"""Table 1, measured: what `report table1` measures, and times, on a large grid."""

import dataclasses

from transformer_jax.reports import table1
from transformer_jax.reports.layer_types import LAYER_TYPES
from transformer_jax.reports.render import Row
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.study import Study


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What is measured.

    Attributes:
      lengths: n.
      widths: d.
    """

    lengths: tuple[int, ...] = (16, 64, 256, 1024, 4096)
    widths: tuple[int, ...] = (64, 256, 1024)


def _measure(sizes: Sizes, bench: Bench) -> list[Row]:
    rows: list[Row] = []
    for name in LAYER_TYPES:
        with bench.part(name):
            rows += table1.measure(name, sizes.lengths, sizes.widths, has_times=True)
    return rows


STUDY = Study(
    shows="layer types: operations, chains, paths and time over n and d",
    about=(
        "The four layer types of the paper's Table 1, one layer of each, measured over "
        "lengths n and widths d: operations, the operations that must follow one "
        "another, the path of a signal from the first position to the last, and time."
    ),
    sizes={"full": Sizes(), "small": Sizes((16, 24), (8, 16))},
    measure=_measure,
    tabulate=table1.tabulate,
    draw=table1.draw,
)
