"""Table 3: variations of the base model on newstest2013, and their parameters."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from transformer_jax.config.sections import PAPER_VOCAB_SIZE
from transformer_jax.reports import paper_numbers, row_models
from transformer_jax.reports.chosen_evaluations import rank
from transformer_jax.reports.paper_numbers import Variation
from transformer_jax.reports.render import (
    Column,
    Part,
    Report,
    Row,
    decimals,
    powers,
    spaced,
)
from transformer_jax.reports.run_summary import RunSummary, read_runs

_ROW = Column("row", "row")
_SIZES = (
    _ROW,
    Column("changes", "differs from the base model in"),
    Column("paper_params", "paper's parameters, millions", decimals(0, 1e6)),
    Column("computed_params", "counted parameters, millions", decimals(1, 1e6)),
    Column("computed_params_difference", "difference, %", decimals(1)),
    Column("computed_flops", "training FLOPs by count", powers),
)
_RESULTS = (
    _ROW,
    Column("paper_perplexity", "paper's perplexity", decimals(2)),
    Column("measured_perplexity", "measured perplexity", decimals(2)),
    Column("paper_bleu", "paper's BLEU", decimals(1)),
    Column("measured_paper_bleu", "measured, as the paper's BLEU", decimals(2)),
    Column("measured_sacrebleu", "measured sacreBLEU", decimals(2)),
    Column("measured_on", "measured on"),
    Column("measured_steps", "steps", spaced),
)
_NOTES = (
    f"Parameters are counted from the model at V = {spaced(PAPER_VOCAB_SIZE)}, all "
    "embeddings tied, no biases in attention. No vocabulary that the paper states "
    "gives its own counts: ours are up to 7 % lower, and 0.6 % higher for the big "
    "model. The difference is ours less the paper's, in percent of the paper's.",
    "Perplexity is per piece and of unsmoothed targets: it depends on the vocabulary.",
    "The paper's BLEU is tokenised, cased, with compounds split; sacreBLEU is another "
    "number.",
    "A dash for the paper's parameters is a blank in the paper. A row's measured "
    "figures are those of a run whose folder is called as the row, here NAME:",
    "`python -m transformer_jax train --config configs/table3/NAME.py --workdir "
    "runs/NAME`",
    "`python -m transformer_jax evaluate --workdir runs/NAME --split validation`",
    "`python -m transformer_jax report table3 --workdirs runs/NAME`",
)


def make_report(workdirs: Sequence[str | os.PathLike[str]] = ()) -> Report:
    """Count every row, and put a run's scores into the row that its name names.

    A run belongs to the row whose name its directory has, such as runs/a_heads_1; other
    runs follow below.
    """
    runs = read_runs(workdirs)
    by_row = {run.name: run for run in runs}
    notes = [*_NOTES, *(warning for run in runs for warning in run.warnings)]
    rows = [_row(row, by_row.pop(row.row, None)) for row in paper_numbers.TABLE_3]
    rows += [
        {
            "row": run.name,
            "computed_params": row_models.num_params_of_run(run),
        }
        | _measured(run)
        for run in by_row.values()
    ]
    parts = [Part("Sizes", _SIZES, rows), Part("Results, newstest2013", _RESULTS, rows)]
    return Report("Table 3: variations of the Transformer", parts, rows, notes)


def _row(row: Variation, run: RunSummary | None) -> Row:
    computed = row_models.num_params(row_models.of_variation(row))
    difference = None
    if row.params is not None:
        difference = round(100 * (computed / 1e6 / row.params - 1), 1)
    return {
        "row": row.row,
        "changes": _changes(row),
        "paper_perplexity": row.perplexity,
        "paper_bleu": row.bleu,
        "paper_params": None if row.params is None else row.params * 1_000_000,
        "computed_params": computed,
        "computed_params_difference": difference,
        "computed_flops": row_models.variation_flops(row),
    } | (_measured(run) if run else {})


def _changes(row: Variation) -> str:
    """Name the values in which a row differs from the base model."""
    base = paper_numbers.TABLE_3[0]
    results = {"row", "perplexity", "bleu", "params"}
    names = [field.name for field in dataclasses.fields(row)]
    changed = [
        f"{name}={getattr(row, name)}"
        for name in names
        if name not in results and getattr(row, name) != getattr(base, name)
    ]
    return ", ".join(changed)


def _measured(run: RunSummary) -> dict[str, Any]:
    """Return a run's figures on its validation split, newstest2013 for WMT14."""
    steps = {
        name: evaluation["produced_by"]["checkpoint_steps"]
        for name, evaluation in run.evaluations.items()
        if evaluation["produced_by"].get("split") == "validation"
        and not evaluation["produced_by"]["is_average"]
    }
    newest = max(steps, key=lambda name: (steps[name], rank(run, name)), default="")
    last = run.evaluations.get(newest, {})
    return {
        "measured_perplexity": run.perplexity,
        "measured_paper_bleu": last.get("paper_bleu"),
        "measured_sacrebleu": last.get("sacrebleu"),
        "measured_on": last.get("test_set"),
        "measured_steps": run.steps,
    }
