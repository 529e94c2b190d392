"""Table 2: scores on newstest2014 and what training cost, counted in three ways."""

import os
from collections.abc import Sequence
from typing import Any

from transformer_jax.costs.accelerators import (
    Accelerator,
    find_accelerator,
    recognise,
    sustained_flops,
)
from transformer_jax.costs.flops import training_flops
from transformer_jax.errors import UserError
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
    for workdir in workdirs:
        rows += _run_rows(read_run(workdir), accelerator, num_chips)
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
    return variation_flops(row)


def variation_flops(row: paper_numbers.Variation) -> float:
    """Count the training of a row of Table 3, on full batches (Section 5.1)."""
    num_tokens = row.num_steps * paper_numbers.TOKENS_PER_BATCH
    return training_flops(
        sizes.of_variation(row),
        source_tokens=num_tokens,
        target_tokens=num_tokens,
        sentence_length=SENTENCE_LENGTH,
    )


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
    """Count what a run's updates cost, and how well they used their devices.

    Args:
      run: one that counted its real tokens and its time; of an older one, batches count
        as full and what hangs on its time is left out.
      accelerator: what it was trained on, if not what it wrote down.
      num_chips: how many of them, if not what it wrote down.
    """
    full = run.steps * run.config["data"]["tokens_per_batch"]
    target_tokens = run.target_tokens or full
    flops = target_tokens and training_flops(
        sizes.of_run(run),
        source_tokens=run.source_tokens or full,
        target_tokens=target_tokens,
        sentence_length=SENTENCE_LENGTH,
    )
    cost: dict[str, Any] = {"computed_flops": flops}
    device, number = _devices(run, accelerator, num_chips)
    if run.seconds is not None:
        cost["measured_hours"] = run.seconds / 3600
        if device is not None:
            cost["computed_flops_by_time"] = sustained_flops(
                run.seconds, number, device
            )
    if device is not None and run.target_tokens_per_second is not None:
        achieved = run.target_tokens_per_second * flops / target_tokens
        cost["computed_utilisation"] = achieved / (number * device.peak)
    return cost


def _devices(
    run: RunSummary, accelerator: str | None, num_chips: int | None
) -> tuple[Accelerator | None, float]:
    """Return what a run was trained on, and how many: as given, or as written down.

    A run that changed its devices on the way has no one answer.
    """
    if num_chips is not None and num_chips < 1:
        raise UserError(f"--num_chips={num_chips}: expected at least 1.")
    used = {(entry["device_kind"], entry["num_devices"]) for entry in run.hardware}
    kind, num_jax_devices = used.pop() if len(used) == 1 else ("", 0)
    device = find_accelerator(accelerator) if accelerator else recognise(kind)
    if device is None or num_chips is not None:
        return device, num_chips or 0
    if not num_jax_devices:
        raise UserError(
            f"{run.name} has not written down how many devices it used, or used "
            "different ones. Give --num_chips."
        )
    return device, num_jax_devices / device.num_jax_devices
