"""Parameters of every system: by formula, and counted in the model itself."""

import re
from collections.abc import Sequence
from typing import Any

import jax

from transformer_jax.config.sections import PAPER_VOCAB_SIZE
from transformer_jax.models import TRANSLATION_MODELS
from transformer_jax.models.parameters import param_shapes
from transformer_jax.reports.render import Column, Part, Report, Row, spaced
from transformer_jax.reports.row_models import of_run
from transformer_jax.reports.run_summary import read_runs
from transformer_jax.reports.size_formulas import SIZE_FORMULAS, Term

_COLUMNS = (
    Column("model", ""),
    Column("part", "part"),
    Column("formula", "formula"),
    Column("written_out", "in numbers"),
    Column("computed_params", "makes", spaced),
    Column("counted_params", "counted", spaced),
)
_SYMBOLS = (
    "V pieces, d_model width of their vectors, d_in and d_h width of what a layer "
    "reads and of its state, d_c channels of a convolution and k positions of its "
    "window, d_a of attention's hidden layer, d_ff of the "
    "feed-forward's, h heads with keys and values of d_k and d_v, N layers (E of the "
    "encoder, D of the decoder), n positions.",
    "The numbers in front of (d_in + d_h + 1) are gates: 4 of an LSTM, 3 of a GRU. "
    "`counted` are the elements of the arrays that the model makes.",
)


def make_report(workdirs: Sequence[str] = ()) -> Report:
    """Put a table for each system: of the sizes in its paper, or of runs.

    Args:
      workdirs: runs; without any, every system at its defaults with the paper's
        vocabulary.

    Raises:
      UserError: if one is no run, or has no tokenizer yet.
    """
    parts: list[Part] = []
    for run in read_runs(workdirs):
        name, of_this = run.config["model"]["name"], of_run(run)
        shapes = param_shapes(of_this.model, of_this.task.inputs)
        table = _rows(name, of_this.model, shapes)
        parts.append(Part(f"{run.name}: {name}", _COLUMNS, table))
    if not parts:
        for name, kind in TRANSLATION_MODELS.items():
            model = kind.module(kind.config(PAPER_VOCAB_SIZE, PAPER_VOCAB_SIZE))
            table = _rows(name, model, param_shapes(model))
            parts.append(Part(name, _COLUMNS, table))
    rows = [{"model": part.title} | dict(row) for part in parts for row in part.rows]
    title = "Parameters by formula and as counted"
    if not workdirs:
        title += f", each system as published, V = {spaced(PAPER_VOCAB_SIZE)}"
    return Report(title, parts, rows, _SYMBOLS)


def _rows(name: str, model: Any, shapes: Any) -> list[Row]:
    """Return a row for each term of a model with such parameters, then their sum."""
    terms = SIZE_FORMULAS[name](model.config) if name in SIZE_FORMULAS else []
    rows: list[Row] = [
        {
            "part": term.part,
            "formula": term.formula,
            "written_out": term.written_out,
            "computed_params": term.count,
            "counted_params": count_term(term, shapes),
        }
        for term in terms
    ]
    counted = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    computed = sum(term.count for term in terms) if terms else None
    total = {"part": "all", "computed_params": computed, "counted_params": counted}
    return [*rows, total]


def count_term(term: Term, shapes: Any) -> int:
    """Count the parameters that a term is about, in a tree of shapes."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(shapes)
    names = (
        ("/".join(str(step.key) for step in path), leaf.size) for path, leaf in leaves
    )
    pattern = re.compile(rf"({term.paths})(/|$)")
    return sum(size for name, size in names if pattern.match(name))
