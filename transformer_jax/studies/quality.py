"""BLEU against time and operations: the small sister of Table 2."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from transformer_jax.costs.flops import SENTENCE_LENGTH, training_flops
from transformer_jax.models.parameters import count_params
from transformer_jax.reports.render import (
    Column,
    Report,
    Row,
    clock,
    decimals,
    one_table,
    powers,
    spaced,
)
from transformer_jax.reports.run_summary import read_run
from transformer_jax.runs.run_evaluation import evaluate_run
from transformer_jax.runs.trained_run import TrainedRun
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.rows import distinct
from transformer_jax.studies.study import Study
from transformer_jax.studies.translation_runs import (
    MULTI30K_CONFIGS,
    TINY_CONFIGS,
    TranslationRuns,
    open_runs,
)
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SCORE = "validation/sacrebleu"


def _measure(sizes: TranslationRuns, bench: Bench) -> list[Row]:
    rows: list[Row] = []
    for system, seed, run in open_runs(sizes, bench):
        with bench.part(f"translate {system} {seed}"):
            found = evaluate_run(run)
        of_run = {
            "system": system,
            "seed": seed,
            "num_params": count_params(run.params),
            "test_sacrebleu": found.scores.sacrebleu,
            "test_step": run.steps[0],
            "device": read_run(run.directory.root).describe_hardware(),
        }
        rows += [{**of_run, **row} for row in _validations(run)]
    return rows


def _validations(run: TrainedRun) -> list[Row]:
    """Return what each validation found, after how long and how many operations."""
    rows: list[Row] = []
    seconds = source = target = 0.0
    for row in run.directory.read_metrics():
        if "train/loss" in row:
            seconds += row["train/seconds"]
            source += row["train/source_tokens"]
            target += row["train/target_tokens"]
        if _SCORE in row:
            flops = training_flops(
                run.parts.model,
                source_tokens=source,
                target_tokens=target,
                sentence_length=SENTENCE_LENGTH,
            )
            rows.append(
                {
                    "step": row["step"],
                    "hours": seconds / 3600,
                    "flops": flops,
                    "validation_sacrebleu": row[_SCORE],
                }
            )
    return rows


def _tabulate(rows: Sequence[Row]) -> Report:
    runs = _by_run(rows)
    # What every run reaches, in whole points.
    level = math.floor(min(max(_scores(run)) for run in runs.values()))
    table = []
    for system in dict.fromkeys(system for system, _ in runs):
        mine = [run for (name, _), run in runs.items() if name == system]
        table.append(
            {
                "system": system.replace("_", " "),
                "num_params": mine[0][0]["num_params"],
                "steps": mine[0][-1]["step"],
                **{
                    name: statistics.mean(run[-1][name] for run in mine)
                    for name in ("hours", "flops", "test_sacrebleu")
                },
                "validation_sacrebleu": statistics.mean(
                    max(_scores(run)) for run in mine
                ),
                **{
                    f"{name}_to_level": statistics.mean(
                        _reach(run, name, level) for run in mine
                    )
                    for name in ("hours", "flops")
                },
            }
        )
    columns = (
        Column("system", "system"),
        Column("num_params", "parameters", spaced),
        Column("steps", "updates", spaced),
        Column("hours", "h:min:s", clock),
        Column("flops", "operations", powers),
        Column("validation_sacrebleu", "best BLEU on validation", decimals(1)),
        Column("test_sacrebleu", "BLEU on test", decimals(2)),
        Column("hours_to_level", f"h:min:s to {level}", clock),
        Column("flops_to_level", f"operations to {level}", powers),
    )
    num_seeds = len({seed for _, seed in runs})
    notes = [
        "BLEU is sacreBLEU, 13a, cased: greedy on the validation split while training, "
        "by beam search with the best checkpoint on the test split. "
        + ("One seed." if num_seeds == 1 else f"The mean over {num_seeds} seeds."),
        f"`to {level}` is until the score on validation gets there; between two "
        "validations a line is drawn. Operations are counted as `report cost` does.",
        "Trained on " + "; ".join(distinct(rows, "device")) + ".",
    ]
    title = "Speed at equal quality: BLEU against time and operations"
    return one_table(title, columns, table, notes)


def _by_run(rows: Sequence[Row]) -> Mapping[tuple[str, int], list[Row]]:
    runs: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        runs.setdefault((row["system"], row["seed"]), []).append(row)
    return runs


def _scores(run: Sequence[Row]) -> list[float]:
    return [row["validation_sacrebleu"] for row in run]


def _reach(run: Sequence[Row], name: str, level: float) -> float:
    """Return how much of a quantity it took to get to a score, between validations."""
    before: Row = {name: 0.0, "validation_sacrebleu": 0.0}
    for row in run:
        if row["validation_sacrebleu"] >= level:
            gained = row["validation_sacrebleu"] - before["validation_sacrebleu"]
            share = (level - before["validation_sacrebleu"]) / gained if gained else 0.0
            return float(before[name] + share * (row[name] - before[name]))
        before = row
    raise ValueError(f"no validation reaches {level}")


def _draw(rows: Sequence[Row]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure((9, 4), layout="constrained")
    by_time, by_flops = figure.subplots(1, 2, sharey=True)
    _draw_runs(by_time, rows, "hours", "hours of training")
    _draw_runs(by_flops, rows, "flops", "operations of training")
    theme.set_log_scale(by_flops, "x")
    by_time.set_ylabel("sacreBLEU on validation, greedy")
    by_time.set_ylim(bottom=0)
    by_time.legend()
    return figure


def _draw_runs(axes: "Axes", rows: Sequence[Row], name: str, label: str) -> None:
    systems = distinct(rows, "system")
    for (system, seed), run in _by_run(rows).items():
        axes.plot(
            [row[name] for row in run],
            _scores(run),
            label=system.replace("_", " ") if seed == rows[0]["seed"] else None,
            **theme.series(systems.index(system)),
        )
    axes.set_xlabel(label)


STUDY = Study(
    shows="BLEU on Multi30k against time and operations, for four systems",
    about=(
        "The paper's Table 2 sets BLEU beside the operations of a training. Here "
        "recurrent, convolutional and self-attentive systems are trained on the same "
        "text, in the same batches, on the same machine, and their score on the "
        "validation split is followed."
    ),
    sizes={
        "full": TranslationRuns(MULTI30K_CONFIGS),
        "small": TranslationRuns(TINY_CONFIGS, num_steps=2),
    },
    measure=_measure,
    tabulate=_tabulate,
    draw=_draw,
)
