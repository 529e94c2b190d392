"""The eleven tasks of BERT's paper, with the scores of runs beside the published."""

import os
from collections.abc import Sequence

from transformer_jax.reports.bert_numbers import BERT_RESULTS, BertResult
from transformer_jax.reports.render import (
    Column,
    Report,
    Row,
    decimals,
    one_table,
    spaced,
)
from transformer_jax.reports.run_summary import RunSummary, read_runs

_COLUMNS = (
    Column("row", "run"),
    Column("task", "task"),
    Column("metric", "score, %"),
    Column("base", "BERT base", decimals(1)),
    Column("large", "BERT large", decimals(1)),
    Column("measured", "measured", decimals(1)),
    Column("steps", "steps", spaced),
    Column("folder", "GLUE's folder"),
)
_NOTES = (
    "Published: the test set by GLUE's server, or as the task says (Devlin et al. "
    "2018, Tables 1 to 4). Measured: the best on the validation split, which is "
    "another set, of a run whose folder is called as the row, here NAME:",
    "`python -m transformer_jax train --config configs/bert/glue/NAME.py "
    "--config.training.init_from=BERT --config.data.labelled.directory=GLUE/FOLDER "
    "--workdir runs/NAME`",
    "`python -m transformer_jax evaluate --workdir runs/NAME --split validation`",
    "`python -m transformer_jax report bert --workdirs runs/NAME`",
    "BERT is a directory of Hugging Face's transformers, or a pre-trained run of the "
    "same size. STS-B is no task of classes, SQuAD asks for spans and SWAG for one of "
    "four endings: they have no config.",
)


def make_report(workdirs: Sequence[str | os.PathLike[str]] = ()) -> Report:
    """Put a run's scores into the row that its folder names."""
    by_name = {run.name: run for run in read_runs(workdirs)}
    rows = [_row(result, by_name.get(result.row)) for result in BERT_RESULTS]
    return one_table("BERT: eleven tasks", _COLUMNS, rows, _NOTES)


def _row(result: BertResult, run: RunSummary | None) -> Row:
    return {
        "row": result.row,
        "task": result.task,
        "metric": result.metric,
        "base": result.base,
        "large": result.large,
        "measured": None if run is None else _measured(result, run),
        "steps": None if run is None else run.steps,
        "folder": result.folder or None,
    }


def _measured(result: BertResult, run: RunSummary) -> float | None:
    """Return the highest score that `evaluate` found on the validation split."""
    found = [
        evaluation[result.score]
        for evaluation in run.evaluations.values()
        if evaluation["produced_by"].get("split") == "validation"
        and result.score in evaluation
    ]
    return 100 * max(found) if found else None
