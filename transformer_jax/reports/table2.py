"""Table 2: scores on newstest2014 and what training cost, counted in three ways."""

import os
from collections.abc import Sequence
from typing import Any

from transformer_jax.costs.accelerators import find_accelerator, sustained_flops
from transformer_jax.costs.flops import SENTENCE_LENGTH
from transformer_jax.reports import paper_numbers, row_models
from transformer_jax.reports.chosen_evaluations import (
    ChosenEvaluation,
    choose_evaluations,
)
from transformer_jax.reports.render import (
    Column,
    Part,
    Report,
    clock,
    decimals,
    percent,
    powers,
)
from transformer_jax.reports.run_cost import run_cost
from transformer_jax.reports.run_summary import RunSummary, read_runs

_ROW = Column("row", "system")
_PAPER = (
    _ROW,
    Column("paper_bleu_ende", "BLEU, EN-DE", decimals(2)),
    Column("paper_bleu_enfr", "BLEU, EN-FR", decimals(2)),
    Column("paper_flops_ende", "training FLOPs, EN-DE", powers),
    Column("paper_flops_enfr", "training FLOPs, EN-FR", powers),
)
_SCORES = (
    _ROW,
    Column("measured_on", "test set"),
    Column("measured_weights", "weights"),
    Column("measured_search", "search"),
    Column("measured_num_sentences", ""),
    Column("measured_sacrebleu", "sacreBLEU", decimals(2)),
    Column("measured_paper_bleu", "as the paper's BLEU", decimals(2)),
    Column("measured_tokenised_lowercase_bleu", "lower-cased BLEU", decimals(2)),
    Column("measured_chrf", "chrF2", decimals(2)),
)
_COSTS = (
    _ROW,
    Column("measured_hours", "training time, h:min:s", clock),
    Column("computed_flops_by_time", "training FLOPs by time", powers),
    Column("computed_flops", "training FLOPs by count", powers),
    Column("computed_utilisation", "utilisation", percent),
)
_NOTES = (
    "The paper's BLEU is tokenised, cased, and for German with compounds split; "
    "sacreBLEU is another number. Some of its scores the paper prints with one "
    "decimal, those of the Transformer among them.",
    "FLOPs by time are time x devices x sustained rate, the paper's way; in its own "
    "rows from its own times.",
    "FLOPs by count are the model's matrix products, forward and backward: of the "
    "paper's rows on full batches, of runs on the real tokens that they trained on; "
    f"sentences count as {SENTENCE_LENGTH} tokens long.",
    "The utilisation of a run is its product operations a second, at its median "
    "speed, over its devices' peak; of the paper's rows, FLOPs by count over FLOPs by "
    "time.",
    "The text of Section 6.1 has 41.0 for the big model on English-French, Table 2 and "
    "the abstract have 41.8.",
)
_RUN_NOTES = (
    "A test set counts once for a run's single checkpoints and once for its means of "
    "several: as evaluated with the run's own search, by the best checkpoint or the "
    "mean of the most, then by the latest. Validation splits are left out.",
)


def make_report(
    workdirs: Sequence[str | os.PathLike[str]] = (),
    accelerator: str | None = None,
    num_chips: int | None = None,
) -> Report:
    """Put the paper's ten rows before those of runs.

    Args:
      workdirs: runs; each test set is a row, of one checkpoint and of a mean.
      accelerator: what the runs were trained on, if not what they wrote down.
      num_chips: how many of them, if not what they wrote down.
    """
    papers = [_paper_row(result) for result in paper_numbers.TABLE_2]
    rows = [*papers]
    scores: list[dict[str, Any]] = []
    costs = [row for row in papers if "computed_flops" in row]
    notes = [*_NOTES, *(_RUN_NOTES if workdirs else ())]
    for run in read_runs(workdirs):
        cost = _cost_row(run, accelerator, num_chips)
        chosen, left_out = choose_evaluations(run)
        scored = [_score_row(run, evaluation) for evaluation in chosen]
        rows += [row | cost for row in scored] or [cost]
        scores += scored
        costs.append(cost)
        if left_out:
            notes.append(
                f"{run.name}: {left_out} more evaluations of these test sets are in "
                "the run's evaluation folder."
            )
        notes += run.warnings
    parts = [
        Part("The paper's figures, newstest2014", _PAPER, papers),
        Part("Scores of runs", _SCORES, scores),
        Part("Cost of training", _COSTS, costs),
    ]
    return Report("Table 2: translation quality and training cost", parts, rows, notes)


def _paper_row(result: paper_numbers.TranslationResult) -> dict[str, Any]:
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


def _score_row(run: RunSummary, evaluation: ChosenEvaluation) -> dict[str, Any]:
    scores = evaluation.scores
    return {
        "row": run.name,
        "measured_on": evaluation.test_set,
        "measured_weights": evaluation.weights,
        "measured_search": evaluation.search,
        "measured_num_sentences": scores.get("num_sentences"),
        "measured_sacrebleu": scores.get("sacrebleu"),
        "measured_paper_bleu": scores.get("paper_bleu"),
        "measured_tokenised_lowercase_bleu": scores.get("tokenised_lowercase_bleu"),
        "measured_chrf": scores.get("chrf"),
    }


def _cost_row(
    run: RunSummary, accelerator: str | None, num_chips: int | None
) -> dict[str, Any]:
    cost = run_cost(run, accelerator, num_chips)
    return {
        "row": run.name,
        "measured_hours": cost.hours,
        "computed_flops_by_time": cost.flops_by_time,
        "computed_flops": cost.flops,
        "computed_utilisation": cost.utilisation,
    }
