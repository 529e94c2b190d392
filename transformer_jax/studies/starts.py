"""Pre-trained against from scratch, over the number of examples: table and picture.

Rows of such a study have "task", "start", "num_examples", "seed" and "score".
"""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import ml_collections

from transformer_jax.config import default
from transformer_jax.reports.render import Column, Part, Row, decimals, spaced
from transformer_jax.studies.rows import distinct, values
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCRATCH, PRETRAINED = "from scratch", "pre-trained"
STARTS = (SCRATCH, PRETRAINED)


def tiny_pretraining(num_steps: int) -> ml_collections.ConfigDict:
    """Return a training of seconds on the built-in corpus, for small forms."""
    config = default.get_bert_config(
        "masked_language_model",
        "tiny",
        num_steps=num_steps,
        warmup_steps=1,
        peak_learning_rate=1e-3,
    )
    config.data.update(
        source="grammar",
        vocab_size=600,
        tokens_per_batch=256,
        max_batch_shapes=1,
        max_length=63,
    )
    config.data.grammar.update(num_train_pairs=100, num_validation_pairs=8)
    config.model.update(
        num_layers=1, d_model=16, d_ff=32, num_heads=2, max_positions=64
    )
    _validate_at_the_end(config)
    return config


def finetuning_config(
    *, seed: int, num_steps: int, peak_learning_rate: float
) -> ml_collections.ConfigDict:
    """Return a classification that is validated once, at its end."""
    config = default.get_bert_config(
        "classification",
        "tiny",
        num_steps=num_steps,
        warmup_steps=max(num_steps // 10, 1),
        peak_learning_rate=peak_learning_rate,
    )
    config.seed = seed
    _validate_at_the_end(config)
    return config


def _validate_at_the_end(config: ml_collections.ConfigDict) -> None:
    config.training.trackers = ""
    config.evaluation.eval_every_steps = config.training.num_steps
    config.checkpoints.update(save_every_steps=0, save_every_minutes=2.0, keep_params=1)


def of_task(rows: Sequence[Row], task: str, scale: float = 1.0) -> list[Row]:
    """Return a line for each number of examples: mean and spread of either start.

    Args:
      rows: of the study.
      task: one of theirs.
      scale: what scores are multiplied by, as 100 for shares in percent.
    """
    table: list[Row] = []
    for number in distinct(rows, "num_examples", task=task):
        entry: dict[str, float] = {"num_examples": number}
        for start in STARTS:
            scores = values(rows, "score", task=task, num_examples=number, start=start)
            entry[start] = scale * statistics.fmean(scores)
            entry[f"spread {start}"] = scale * (max(scores) - min(scores))
        entry["gain"] = entry[PRETRAINED] - entry[SCRATCH]
        table.append(entry)
    return table


def describe_means(rows: Sequence[Row], what_differs: str) -> str:
    """Say over what the tables take means, and what another seed changes."""
    seeds = {row["seed"] for row in rows if "seed" in row}
    if len(seeds) == 1:
        return "One seed."
    return (
        f"The mean over {len(seeds)} seeds, which draw {what_differs}, and the spread "
        "from the lowest to the highest."
    )


def part_of_task(rows: Sequence[Row], task: str, scale: float = 1.0) -> Part:
    """Return `of_task` as a table, headed by the task's name."""
    columns = [Column("num_examples", "examples", spaced)]
    for start in STARTS:
        columns.append(Column(start, start, decimals(1)))
        if len(distinct(rows, "seed")) > 1:
            columns.append(Column(f"spread {start}", "its spread", decimals(1)))
    columns.append(Column("gain", "gain", decimals(1)))
    return Part(task, columns, of_task(rows, task, scale))


def draw_tasks(
    rows: Sequence[Row],
    label: str,
    scale: float = 1.0,
    chance: float | None = None,
    share_y: bool = True,
) -> "Figure":
    """Draw the score over the number of examples: a line for each start, dots are runs.

    Args:
      rows: of the study.
      label: of the score.
      scale: as in `of_task`.
      chance: the score of a guess, which is drawn as a line.
      share_y: whether the tasks have one scale.
    """
    from matplotlib.figure import Figure

    tasks = distinct(rows, "task")
    figure = Figure((4.6 * len(tasks), 3.8), layout="constrained")
    for axes, task in zip(
        figure.subplots(1, len(tasks), squeeze=False, sharey=share_y)[0],
        tasks,
        strict=True,
    ):
        _draw_task(axes, rows, task, scale)
        if chance is not None:
            axes.axhline(chance, color=theme.GREY, linewidth=1, linestyle=":")
        axes.set_title(task)
        axes.set_xlabel("examples")
    figure.axes[0].set_ylabel(label)
    figure.axes[0].legend()
    return figure


def _draw_task(axes: "Axes", rows: Sequence[Row], task: str, scale: float) -> None:
    table = of_task(rows, task, scale)
    numbers = [entry["num_examples"] for entry in table]
    for place, start in enumerate(STARTS):
        look = theme.series(place)
        axes.plot(numbers, [entry[start] for entry in table], label=start, **look)
        chosen = {"task": task, "start": start}
        axes.plot(
            values(rows, "num_examples", **chosen),
            [scale * score for score in values(rows, "score", **chosen)],
            ".",
            color=look["color"],
            alpha=0.5,
        )
    theme.set_log_scale(axes, "x")
