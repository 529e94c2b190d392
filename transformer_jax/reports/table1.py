"""Table 1: layer types by operations, sequential operations and path length.

The formulas for all four; for self-attention what the compiled layer really has, over
several lengths and widths.
"""

import functools
import os
from typing import Any

import jax
import jax.numpy as jnp

from transformer_jax.files import as_path
from transformer_jax.models.attention import MultiHeadAttention
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.operations import attention_flops
from transformer_jax.reports import paper_numbers
from transformer_jax.reports.dependencies import longest_chain, longest_path
from transformer_jax.reports.render import Column, Part, Report, spaced

LENGTHS, WIDTHS = (16, 64, 256), (64, 256)
_NUM_HEADS = 4
_FORMULAS = (
    Column("row", "layer"),
    Column("paper_complexity", "operations a layer"),
    Column("paper_sequential", "sequential operations"),
    Column("paper_path", "longest path"),
)
_MEASURED = (
    Column("n", "length n", spaced),
    Column("d", "width d", spaced),
    Column("measured_flops", "operations by XLA's analysis", spaced),
    Column("computed_flops", "operations by count", spaced),
    Column("measured_chain", "longest chain of operations", spaced),
    Column("measured_path", "longest path, layers", spaced),
)
_NOTES = (
    "XLA's analysis is of the compiled layer, softmax included. The count is of its "
    "matrix products, the four projections (8 n d^2) included, which the paper's "
    "formula leaves out.",
    "The longest chain is the number of operations in the layer's program that must "
    "follow one another; it does not grow with n. The longest path is the number of "
    "layers until each position depends on every other, from the layer's derivatives.",
    "The other layers are not part of the package, and not measured.",
)


def make_report() -> Report:
    """Put formulas first, then a row for each length and width."""
    formulas = [
        {
            "row": layer.row,
            "paper_complexity": layer.complexity,
            "paper_sequential": layer.sequential,
            "paper_path": layer.path,
        }
        for layer in paper_numbers.TABLE_1
    ]
    measured = [_measure(length, width) for width in WIDTHS for length in LENGTHS]
    parts = [
        Part("The paper's formulas", _FORMULAS, formulas),
        Part("Self-attention as measured", _MEASURED, measured),
    ]
    return Report("Table 1: layer types", parts, [*formulas, *measured], _NOTES)


def _measure(length: int, width: int) -> dict[str, Any]:
    """Measure self-attention of one length and width, unmasked, as in the encoder."""
    layer = MultiHeadAttention(
        d_model=width,
        num_heads=_NUM_HEADS,
        d_k=width // _NUM_HEADS,
        d_v=width // _NUM_HEADS,
    )
    x = jax.random.normal(jax.random.key(0), (1, length, width))
    variables = layer.init(jax.random.key(1), x, None)

    def apply(x: jax.Array) -> jax.Array:
        """Map [1, length, d_model] to the same shape."""
        return jnp.asarray(layer.apply(variables, x, None))

    analysis = jax.jit(apply).lower(x).compile().cost_analysis()
    sizes = TransformerConfig(1, 1, d_model=width, num_heads=_NUM_HEADS)
    return {
        "row": "self-attention",
        "n": length,
        "d": width,
        "measured_flops": int(analysis["flops"]) if analysis else None,
        "computed_flops": attention_flops(sizes, length, length),
        "measured_chain": longest_chain(apply, x),
        "measured_path": longest_path(functools.partial(_apply_one, apply), x[0]),
    }


def _apply_one(apply: Any, x: jax.Array) -> jax.Array:
    """Apply a layer for batches to one row [length, d_model]."""
    return apply(x[None])[0]


def save_plot(report: Report, path: str | os.PathLike[str]) -> None:
    """Draw measured operations against length as a PNG or SVG."""
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure((6, 4), layout="constrained")
    axes = figure.subplots()
    for width in WIDTHS:
        rows = [row for row in report.rows if row.get("d") == width]
        lengths = [row["n"] for row in rows]
        axes.loglog(
            lengths, [row["measured_flops"] for row in rows], "o", label=f"d = {width}"
        )
        axes.loglog(lengths, [row["computed_flops"] for row in rows], "-", color="grey")
    axes.set_xlabel("length n")
    axes.set_ylabel("operations of a layer")
    axes.set_title("Self-attention: XLA's analysis (dots) and the count (lines)")
    axes.legend()
    # The same figures give the same file: no date, and no random names inside an SVG.
    picture = as_path(path)
    is_svg = picture.suffix == ".svg"
    with matplotlib.rc_context({"svg.hashsalt": "table1"}):
        figure.savefig(picture, metadata={"Date": None} if is_svg else None)
