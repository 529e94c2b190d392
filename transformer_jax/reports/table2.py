"""Table 2: scores on newstest2014 and what training cost, counted in three ways."""

import os
from collections.abc import Sequence
from typing import Any

from transformer_jax.evaluation.accelerators import find_accelerator, sustained_flops
from transformer_jax.evaluation.flops import training_flops
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.reports import paper_numbers, sizes
from transformer_jax.reports.render import Report, Row
from transformer_jax.reports.runs import RunSummary, read_run

# Pieces in a sentence, for the quadratic part of attention, a few percent of the whole.
SENTENCE_LENGTH = 30

_SCORES = ("sacrebleu", "paper_bleu", "tokenised_lowercase_bleu", "chrf")
_NOTES = (
    "paper_bleu columns are tokenised, cased, and for German with compounds split; "
    "sacreBLEU (measured_sacrebleu) is another number.",
    "paper_flops as printed; computed_flops_by_time is time x devices x sustained "
    "rate, the paper's way, from its own times.",
    "computed_flops counts the model's matrix products, forward and backward, on full "
    f"batches of sentences of {SENTENCE_LENGTH} pieces.",
    "The text of Section 6.1 has 41.0 for the big model on English-French, Table 2 and "
    "the abstract have 41.8.",
)


def make_report(
    workdirs: Sequence[str | os.PathLike[str]] = (),
    accelerator: str | None = None,
    num_devices: int = 1,
) -> Report:
    """Put the paper's ten rows before those of runs.

    Args:
      workdirs: runs; each scored text is a row.
      accelerator: what the runs were trained on, for their utilisation.
      num_devices: how many of them.
    """
    rows = [_paper_row(result) for result in paper_numbers.TABLE_2]
    for workdir in workdirs:
        rows += _run_rows(read_run(workdir), accelerator, num_devices)
    return Report("Table 2: translation quality and training cost", rows, _NOTES)


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
        row["computed_flops"] = paper_flops(variation)
        # Of what the paper takes a P100 to sustain, this share went into products.
        row["computed_utilisation"] = row["computed_flops"] / by_time
    return row


def paper_flops(variation: str) -> float:
    """Count the training of the row of Table 3 that is called `variation`."""
    row = next(row for row in paper_numbers.TABLE_3 if row.row == variation)
    return training_flops(
        sizes.of_variation(row),
        num_steps=row.num_steps,
        tokens_per_batch=paper_numbers.TOKENS_PER_BATCH,
        sentence_length=SENTENCE_LENGTH,
    )


def _run_rows(
    run: RunSummary, accelerator: str | None, num_devices: int
) -> list[dict[str, Any]]:
    """Return a row for each text that the run was scored on, or one without scores."""
    cost = run_cost(run, accelerator, num_devices)
    rows = [
        {"row": f"{run.name}: {name}"}
        | {f"measured_{score}": evaluation.get(score) for score in _SCORES}
        | {"measured_num_sentences": evaluation.get("num_sentences")}
        | cost
        for name, evaluation in run.evaluations.items()
    ]
    return rows or [{"row": run.name} | cost]


def run_cost(
    run: RunSummary, accelerator: str | None = None, num_devices: int = 1
) -> dict[str, Any]:
    """Count what a run's updates cost, and how well they used their devices.

    Batches count as full, which is a bound from above.
    """
    config = sizes.of_run(run)
    cost: dict[str, Any] = {
        "computed_flops": training_flops(
            config,
            num_steps=run.steps,
            tokens_per_batch=run.config["data"]["tokens_per_batch"],
            sentence_length=SENTENCE_LENGTH,
        )
    }
    if accelerator is not None and run.target_tokens_per_second is not None:
        achieved = run.target_tokens_per_second * flops_per_target_token(config)
        peak = num_devices * find_accelerator(accelerator).peak
        cost["computed_utilisation"] = achieved / peak
    return cost


def flops_per_target_token(config: TransformerConfig) -> float:
    """Return what training costs for a target token and its share of the source."""
    return training_flops(
        config, num_steps=1, tokens_per_batch=1, sentence_length=SENTENCE_LENGTH
    )
