"""Table 2: scores on newstest2014 and what training cost, counted in three ways."""

import os
from collections.abc import Sequence
from typing import Any

from transformer_jax.costs.accelerators import find_accelerator, sustained_flops
from transformer_jax.costs.flops import SENTENCE_LENGTH
from transformer_jax.costs.training import Usage, training_cost
from transformer_jax.errors import UserError
from transformer_jax.reports import paper_numbers, row_models
from transformer_jax.reports.render import Report, Row
from transformer_jax.reports.run_summary import RunSummary, read_run

_SCORES = ("sacrebleu", "paper_bleu", "tokenised_lowercase_bleu", "chrf")
_NOTES = (
    "paper_bleu columns are tokenised, cased, and for German with compounds split; "
    "sacreBLEU (measured_sacrebleu) is another number.",
    "paper_flops as printed; computed_flops_by_time is time x devices x sustained "
    "rate, the paper's way, from its own times.",
    "computed_flops counts the model's matrix products, forward and backward: of the "
    "paper's rows on full batches, of runs on the real tokens that they trained on; "
    f"sentences count as {SENTENCE_LENGTH} pieces long.",
    "computed_utilisation of a run is its product operations a second, at its median "
    "speed, over its devices' peak; of the paper's rows, computed_flops over "
    "computed_flops_by_time.",
    "The text of Section 6.1 has 41.0 for the big model on English-French, Table 2 and "
    "the abstract have 41.8.",
)


def make_report(
    workdirs: Sequence[str | os.PathLike[str]] = (),
    accelerator: str | None = None,
    num_chips: int | None = None,
) -> Report:
    """Put the paper's ten rows before those of runs.

    Args:
      workdirs: runs; each scored text is a row.
      accelerator: what the runs were trained on, if not what they wrote down.
      num_chips: how many of them, if not what they wrote down.
    """
    rows = [_paper_row(result) for result in paper_numbers.TABLE_2]
    notes = list(_NOTES)
    for run in map(read_run, workdirs):
        rows += _run_rows(run, accelerator, num_chips)
        notes += run.warnings
    return Report("Table 2: translation quality and training cost", rows, notes)


def _paper_row(result: paper_numbers.TranslationResult) -> Row:
    row: dict[str, Any] = {
        "row": result.row,
        "paper_bleu_ende": result.bleu_ende,
        "paper_bleu_enfr": result.bleu_enfr,
        "paper_flops_ende": result.flops_ende,
        "paper_flops_enfr": result.flops_enfr,
    }
    training = paper_numbers.TRAININGS.get(result.row)
    if training is not None:
        by_time = sustained_flops(
            training.seconds,
            training.num_devices,
            find_accelerator(training.accelerator),
        )
        row["computed_flops_by_time"] = by_time
        variation = "big" if "big" in result.row else "base"
        row["computed_flops"] = row_models.paper_flops(variation)
        # Of what the paper takes a P100 to sustain, this share went into products.
        row["computed_utilisation"] = row["computed_flops"] / by_time
    return row


def _run_rows(
    run: RunSummary, accelerator: str | None, num_chips: int | None
) -> list[dict[str, Any]]:
    """Return a row for each text that the run was scored on, or one without scores."""
    cost = run_cost(run, accelerator, num_chips)
    rows = [
        {"row": f"{run.name}: {name}"}
        | {f"measured_{score}": evaluation.get(score) for score in _SCORES}
        | {"measured_on": evaluation.get("test_set")}
        | {"measured_num_sentences": evaluation.get("num_sentences")}
        | cost
        for name, evaluation in run.evaluations.items()
    ]
    return rows or [{"row": run.name} | cost]


def run_cost(
    run: RunSummary, accelerator: str | None = None, num_chips: int | None = None
) -> dict[str, Any]:
    """Return the columns of what a run's updates cost.

    Of an older run, which has not counted its real tokens and its time, batches count
    as full and what hangs on its time is left out. Of a task that counts other tokens
    than those of a source and a target, the operations are not known.

    Raises:
      UserError: if the devices are not known.
    """
    if run.seconds is not None and run.target_tokens is None:
        return {"measured_hours": run.seconds / 3600}
    full = run.steps * run.config["data"]["tokens_per_batch"]
    usage = Usage(
        source_tokens=run.source_tokens or full,
        target_tokens=run.target_tokens or full,
        seconds=run.seconds,
        target_tokens_per_second=run.target_tokens_per_second,
        hardware=run.hardware,
    )
    try:
        cost = training_cost(
            row_models.of_run(run).model, usage, accelerator, num_chips
        )
    except UserError as error:
        raise UserError(f"{run.name}: {error}") from error
    columns = {
        "computed_flops": cost.flops,
        "measured_hours": None if run.seconds is None else run.seconds / 3600,
        "computed_flops_by_time": cost.flops_by_time,
        "computed_utilisation": cost.utilisation,
    }
    return {name: value for name, value in columns.items() if value is not None}
