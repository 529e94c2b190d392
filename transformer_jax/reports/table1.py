"""Table 1: layer types by operations, sequential operations and path length.

The paper's formulas, and beside them what the layers of the models here really have,
over several lengths n and widths d.
"""

import functools
import itertools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.costs.compiled import compiled_flops
from transformer_jax.reports import paper_numbers
from transformer_jax.reports.dependencies import longest_chain
from transformer_jax.reports.layer_types import (
    KERNEL_WIDTH,
    LAYER_TYPES,
    NUM_HEADS,
    REACH,
    LayerType,
)
from transformer_jax.reports.render import (
    Column,
    Part,
    Report,
    Row,
    decimals,
    powers,
    spaced,
)
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LENGTHS, WIDTHS = (16, 64, 256), (64, 256)
# Paths do not depend on the width.
_PATH_WIDTH = 16
_LEAST_SECONDS, _MOST_CALLS = 0.3, 30
_PAPER = {layer.row: layer for layer in paper_numbers.TABLE_1}
_SELF_ATTENTION = "self-attention"
_NOTES = (
    "XLA's operations are its count of the compiled layer; of a recurrent layer, whose "
    "loop it counts once, the body counts for each step. Those by count are of matrix "
    "products alone. Exponents are fitted to XLA's over all n and d, by least squares "
    "of logarithms; self-attention's four projections (8 n d^2), which the formula "
    "leaves out, are subtracted before.",
    "The chain is the longest one of operations in the layer's program that must "
    "follow one another. The path is the number of layers, of a recurrent layer that "
    "of steps, until the last position depends on the first, by the Jacobian's "
    "sparsity.",
    "The formulas leave constants out. Self-attention's products are 8 n d^2 + 4 n^2 d "
    "operations, an LSTM's 16 n d^2, which is as many at n = 2 d, a convolution's "
    f"{2 * KERNEL_WIDTH} n d^2, which is fewer than those of the projections alone.",
    f"Self-attention has {NUM_HEADS} heads, convolutions are causal and "
    f"{KERNEL_WIDTH} positions wide (k), the dilated ones {KERNEL_WIDTH} times as wide "
    f"from layer to layer; restricted self-attention sees {REACH} positions to either "
    f"side (r = {2 * REACH + 1}).",
)


def make_report() -> Report:
    """Measure a small grid, but for times, and put it beside the formulas."""
    rows = [measure(name, LENGTHS, WIDTHS) for name in LAYER_TYPES]
    return tabulate(list(itertools.chain.from_iterable(rows)))


def measure(
    name: str,
    lengths: Sequence[int],
    widths: Sequence[int],
    *,
    has_times: bool = False,
) -> list[Row]:
    """Measure a layer at every length and width.

    Args:
      name: in `LAYER_TYPES`.
      lengths: n.
      widths: d.
      has_times: whether the clock is asked, too.
    """
    layer = LAYER_TYPES[name]
    rows: list[Row] = []
    for n in lengths:
        path = layer.longest_path(n, _PATH_WIDTH)
        for d in widths:
            row = {"layer": name, "n": n, "d": d, "path": path}
            rows.append(row | _measure(layer, n, d, has_times))
    return rows


def _measure(layer: LayerType, n: int, d: int, has_times: bool) -> dict[str, Any]:
    shapes = (
        jax.eval_shape(lambda: layer.init(jax.random.key(0), d)),
        jax.ShapeDtypeStruct((1, n, d), jnp.float32),
    )
    found: dict[str, Any] = {
        "flops": compiled_flops(layer.apply, *shapes),
        "products": layer.products(n, d),
        "chain": longest_chain(layer.apply, *shapes),
    }
    if has_times:
        variables = layer.init(jax.random.key(0), d)
        x = jax.random.normal(jax.random.key(1), (1, n, d))
        gradient = jax.grad(
            lambda variables, x: jnp.square(layer.apply(variables, x)).mean(), (0, 1)
        )
        found["forward_seconds"] = _median_seconds(layer.apply, variables, x)
        found["gradient_seconds"] = _median_seconds(gradient, variables, x)
    return found


def _median_seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """Time a compiled function, again and again if it is quick."""
    compiled = jax.jit(function)
    jax.block_until_ready(compiled(*arguments))
    seconds: list[float] = []
    while sum(seconds) < _LEAST_SECONDS and len(seconds) < _MOST_CALLS:
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def tabulate(rows: Sequence[Row]) -> Report:
    """Put what is measured beside the formulas, then all of it, then crossings."""
    lengths = sorted({row["n"] for row in rows})
    ends = f"n = {lengths[0]} … {lengths[-1]}"
    claims = [
        Column("layer", "layer"),
        Column("paper_complexity", "operations, paper"),
        Column("exponents", "fitted"),
        Column("paper_sequential", "sequential, paper"),
        Column("chains", f"chain, {ends}"),
        Column("paper_path", "path, paper"),
        Column("paths", f"path, {ends}"),
    ]
    milliseconds = decimals(2, 1e-3)
    measured = [
        Column("layer", "layer"),
        Column("n", "n", str),
        Column("d", "d", str),
        Column("flops", "operations, XLA", powers),
        Column("products", "by count", powers),
        Column("chain", "chain", spaced),
        Column("path", "path", spaced),
        Column("forward_seconds", "forward, ms", milliseconds),
        Column("gradient_seconds", "gradients, ms", milliseconds),
    ]
    crossings = [
        Column("layer", "than"),
        Column("d", "d", str),
        Column("crossing_formula", "by the paper's formulas", str),
        Column("crossing_flops", "by operations"),
        Column("crossing_gradient_seconds", "by time for gradients"),
    ]
    parts = [
        Part("The paper's claims, and what is measured", claims, _claims(rows)),
        Part("Self-attention is cheaper below n = …", crossings, _crossings(rows)),
        Part("All that is measured", measured, rows),
    ]
    every = [row for part in parts for row in part.rows]
    return Report("Table 1: layer types", parts, every, _NOTES)


def _claims(rows: Sequence[Row]) -> list[Row]:
    """Put the formulas of each layer beside its exponents, chains and paths."""
    lines: list[Row] = []
    for name, layer in LAYER_TYPES.items():
        paper = _PAPER[layer.paper_row]
        of_layer = [row for row in rows if row["layer"] == name]
        ends = of_layer[0], of_layer[-1]
        exponents = _exponents(layer, of_layer)
        lines.append(
            {
                "layer": name,
                "paper_complexity": paper.complexity,
                "exponents": exponents and "n^{:.2f} d^{:.2f}".format(*exponents),
                "paper_sequential": paper.sequential,
                "chains": " … ".join(str(row["chain"]) for row in ends),
                "paper_path": paper.path,
                "paths": " … ".join(str(row["path"]) for row in ends),
            }
        )
    return lines


def _exponents(layer: LayerType, rows: Sequence[Row]) -> tuple[float, float] | None:
    """Fit n^a d^b to operations, without projections; None where XLA has no count."""
    if any(row["flops"] is None for row in rows) or len(rows) < 3:
        return None
    sizes = np.array([(row["n"], row["d"]) for row in rows], float)
    flops = [row["flops"] - layer.projections(row["n"], row["d"]) for row in rows]
    terms = np.column_stack([np.log(sizes), np.ones(len(rows))])
    (of_n, of_d, _), *_ = np.linalg.lstsq(terms, np.log(flops))
    return float(of_n), float(of_d)


def _crossings(rows: Sequence[Row]) -> list[Row]:
    """Find for each other layer and width where self-attention costs as much."""
    lines: list[Row] = []
    for name, layer in LAYER_TYPES.items():
        if layer.cheaper_below is None:
            continue
        for d in sorted({row["d"] for row in rows}):
            find = functools.partial(_crossing, rows, name, d)
            lines.append(
                {
                    "layer": name,
                    "d": d,
                    "crossing_formula": layer.cheaper_below(d),
                    "crossing_flops": find("flops"),
                    "crossing_gradient_seconds": find("gradient_seconds"),
                }
            )
    return lines


def _crossing(rows: Sequence[Row], name: str, d: int, value: str) -> str | None:
    """Return the n above which self-attention costs more than another layer.

    Between two measured lengths logarithms are taken to be linear. Where it is cheaper
    up to the last length, or at none, that is said; None where nothing was measured.
    """
    ratios: dict[int, float] = {}
    for layer in (_SELF_ATTENTION, name):
        for row in rows:
            if row["layer"] == layer and row["d"] == d:
                if row.get(value) is None:
                    return None
                ratios[row["n"]] = row[value] / ratios.get(row["n"], 1.0)
    # Above 0 where self-attention is cheaper.
    points = [(math.log(n), math.log(ratio)) for n, ratio in sorted(ratios.items())]
    cheaper = [place for place, (_, ratio) in enumerate(points) if ratio > 0]
    if not cheaper:
        return f"nowhere from {min(ratios)} on"
    if cheaper[-1] == len(points) - 1:
        return f"all up to {max(ratios)}"
    (before, high), (after, low) = points[cheaper[-1] : cheaper[-1] + 2]
    return f"{math.exp(before + high / (high - low) * (after - before)):.0f}"


def draw(rows: Sequence[Row]) -> "Figure":
    """Draw operations, time, chain and path of each layer against the length."""
    from matplotlib.figure import Figure

    widths = sorted({row["d"] for row in rows})
    d = widths[len(widths) // 2]
    values = {
        "flops": f"Operations (d = {d})",
        "gradient_seconds": f"Seconds, gradients (d = {d})",
        "chain": "Longest chain of operations",
        "path": "Longest path, layers or steps",
    }
    shown = [value for value in values if rows[0].get(value) is not None]
    figure = Figure((9, 7), layout="constrained")
    panels = figure.subplots(2, 2).flat
    for axes, value in zip(panels, shown, strict=False):
        _draw_value(axes, [row for row in rows if row["d"] == d], value)
        axes.set_title(values[value])
    for axes in list(panels)[len(shown) :]:
        axes.set_axis_off()
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3
    )
    return figure


def _draw_value(axes: "Axes", rows: Sequence[Row], value: str) -> None:
    """Draw a value of all layers of one width on logarithmic axes."""
    for number, name in enumerate(LAYER_TYPES):
        of_layer = [row for row in rows if row["layer"] == name]
        axes.plot(
            [row["n"] for row in of_layer],
            [row[value] for row in of_layer],
            label=name,
            **theme.series(number),
        )
    theme.set_log_scale(axes, "x", base=2)
    theme.set_log_scale(axes, "y")
    axes.set_xticks(sorted({row["n"] for row in rows}))
    axes.set_xlabel("length n")
