"""What a run cost, by what it wrote down."""

import dataclasses

from transformer_jax.costs.training import Cost, Usage, training_cost
from transformer_jax.errors import UserError
from transformer_jax.reports import row_models
from transformer_jax.reports.run_summary import RunSummary


def run_cost(
    run: RunSummary, accelerator: str | None = None, num_chips: int | None = None
) -> Cost:
    """Return what a run's updates cost.

    Of an older run, which has not counted its real tokens and its time, batches count
    as full and what hangs on its time is left out.

    Raises:
      UserError: if the devices are not known.
    """
    full = None
    if run.seconds is None:
        full = run.steps * run.config["data"]["tokens_per_batch"]
    usage = Usage(
        source_tokens=run.source_tokens or full,
        target_tokens=run.target_tokens or full,
        tokens=run.tokens,
        predictions=run.predictions,
        seconds=run.seconds,
        tokens_per_second=run.tokens_per_second,
        hardware=run.hardware,
    )
    try:
        parts = row_models.of_run(run)
        if parts.task.has_documents and parts.task.row_length:  # They fill rows.
            usage = dataclasses.replace(usage, text_length=parts.task.row_length)
        return training_cost(parts.model, usage, accelerator, num_chips)
    except UserError as error:
        raise UserError(f"{run.name}: {error}") from error
