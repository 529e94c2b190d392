"""Table 3 in small: variations of a narrow model on Multi30k, over several seeds.

python -m benchmarks.table3_multi30k --data DIR --output runs/table3_multi30k

Trains each variation with each seed by train.py, several at once, which share the
cores, and prints perplexity and sacreBLEU on the validation split, without averaging,
as the paper's Table 3 does on newstest2013: the mean over the seeds and their spread.
What is trained already is not trained again; `--only_report` trains nothing.
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import queue
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from transformer_jax.commands.messages import command
from transformer_jax.errors import UserError
from transformer_jax.reports import row_models
from transformer_jax.reports.paper_numbers import TABLE_3
from transformer_jax.reports.render import (
    Column,
    Format,
    Part,
    Report,
    decimals,
    render,
    spaced,
)
from transformer_jax.reports.run_summary import RunSummary, read_run

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_NOTES = (
    "configs/multi30k_table3.py: 2 + 2 layers, d_model 64, d_ff 128, 4 heads, 2000 "
    "pieces, 3000 steps of 2048 + 2048 tokens. Validation split, no averaging, beam 4, "
    "alpha 0.6; mean over the seeds, and the spread from the lowest to the highest.",
    "sacreBLEU is 13a, cased, the paper's BLEU another score; perplexity is per piece, "
    "of unsmoothed targets. Changes are from the base, the paper's from its own.",
)
_ROW = Column("row", "row")
_PAPER = (
    _ROW,
    Column("paper_row", "the paper's row"),
    Column("paper_perplexity_change", "paper's change of perplexity", decimals(2)),
    Column("paper_bleu_change", "paper's change of BLEU", decimals(1)),
    Column("computed_params", "parameters", spaced),
)
_MEASURED = (
    _ROW,
    Column("measured_seeds", "seeds", spaced),
    Column("measured_perplexity", "perplexity", decimals(2)),
    Column("measured_perplexity_spread", "its spread", decimals(2)),
    Column("measured_perplexity_change", "its change", decimals(2)),
    Column("measured_sacrebleu", "sacreBLEU", decimals(2)),
    Column("measured_sacrebleu_spread", "its spread", decimals(2)),
    Column("measured_sacrebleu_change", "its change", decimals(2)),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """A variation of configs/multi30k_table3.py.

    Attributes:
      paper_row: the row of the paper's Table 3 that it is like.
      name: what to call it.
      changes: fields that differ from the base.
    """

    paper_row: str
    name: str
    changes: Mapping[str, object]


ROWS = (
    Row("base", "base", {}),
    Row("a_heads_1", "(A) 1 head", {"model.num_heads": 1}),
    Row("a_heads_32", "(A) 16 heads", {"model.num_heads": 16}),
    Row(
        "c_layers_2",
        "(C) 1 + 1 layers",
        {"model.num_encoder_layers": 1, "model.num_decoder_layers": 1},
    ),
    Row(
        "c_layers_8",
        "(C) 4 + 4 layers",
        {"model.num_encoder_layers": 4, "model.num_decoder_layers": 4},
    ),
    Row("d_dropout_0_0", "(D) dropout 0", {"model.dropout_rate": 0.0}),
    Row("d_smoothing_0_0", "(D) smoothing 0", {"training.label_smoothing": 0.0}),
    Row("e_learned_positions", "(E) learned", {"model.positions": "learned"}),
)


def main() -> None:
    """Parse the arguments, train what is missing, and report."""
    options = _parse()
    with command("table3_multi30k"):
        output = pathlib.Path(options.output)
        if not options.only_report:
            _train_all(output, options.seeds, options.data, options.num_jobs)
        report = make_report(output, options.seeds)
        print(render(report, options.format))


def _workdir(output: pathlib.Path, row: Row, seed: int) -> pathlib.Path:
    return output / f"{row.paper_row}.seed{seed}"


def _train_all(
    output: pathlib.Path, seeds: Sequence[int], data: str, num_jobs: int
) -> None:
    """Train every row to its end, `num_jobs` runs at a time, seed by seed."""
    places: queue.Queue[set[int]] = queue.Queue()
    for cores in _share_cores(num_jobs):
        places.put(cores)

    def train(seed: int, row: Row) -> None:
        cores = places.get()
        try:
            _train(row, seed, _workdir(output, row, seed), data, cores)
        finally:
            places.put(cores)

    with concurrent.futures.ThreadPoolExecutor(num_jobs) as pool:
        jobs = [pool.submit(train, *job) for job in itertools.product(seeds, ROWS)]
        try:
            for job in concurrent.futures.as_completed(jobs):
                job.result()
        finally:  # Those that have not begun when one fails shall not begin.
            pool.shutdown(wait=False, cancel_futures=True)


def _share_cores(num_jobs: int) -> list[set[int]]:
    """Deal out the cores of this process; none are named where it cannot be done."""
    if not hasattr(os, "sched_getaffinity"):
        return [set() for _ in range(num_jobs)]
    cores = sorted(os.sched_getaffinity(0))
    return [set(cores[i % len(cores) :: num_jobs]) for i in range(num_jobs)]


def _train(
    row: Row, seed: int, workdir: pathlib.Path, data: str, cores: set[int]
) -> None:
    """Run train.py with its output in a log beside the run."""
    workdir.parent.mkdir(parents=True, exist_ok=True)
    cache = workdir.parent.resolve() / "compiled"
    print(f"training {workdir}", file=sys.stderr)
    with open(f"{workdir}.log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                "train.py",
                "--config=configs/multi30k_table3.py",
                f"--config.data.directory={os.path.abspath(data)}",
                f"--config.seed={seed}",
                f"--workdir={workdir.resolve()}",
                *(f"--config.{name}={value}" for name, value in row.changes.items()),
            ],
            cwd=_ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"JAX_COMPILATION_CACHE_DIR": str(cache)},
        )
        if cores:
            os.sched_setaffinity(process.pid, cores)
        if process.wait():
            raise UserError(f"train.py failed; {workdir}.log says why.")


def make_report(output: pathlib.Path, seeds: Sequence[int]) -> Report:
    """Put the runs that are finished into rows, beside the paper's differences."""
    summaries: list[dict[str, Any]] = []
    for row in ROWS:
        workdirs = [_workdir(output, row, seed) for seed in seeds]
        runs = [read_run(path) for path in workdirs if (path / "config.json").exists()]
        validated = [run for run in runs if run.validation]
        if validated:
            base = summaries[0] if summaries else None
            summaries.append(_summarise(row, validated, base))
    notes = (f"Seeds {', '.join(map(str, seeds))}.", *_NOTES)
    parts = [
        Part("The paper's differences", _PAPER, summaries),
        Part("As measured", _MEASURED, summaries),
    ]
    return Report("Table 3 in small: Multi30k English-German", parts, summaries, notes)


def _summarise(
    row: Row, runs: Sequence[RunSummary], base: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return a row's means and spreads over its seeds, and what `base` has less."""
    by_name = {variation.row: variation for variation in TABLE_3}
    paper, paper_base = by_name[row.paper_row], by_name["base"]
    summary: dict[str, Any] = {
        "row": row.name,
        "paper_row": row.paper_row,
        "paper_perplexity_change": round(paper.perplexity - paper_base.perplexity, 2),
        "paper_bleu_change": round(paper.bleu - paper_base.bleu, 1),
        "computed_params": row_models.num_params_of_run(runs[0]),
        "measured_seeds": len(runs),
    }
    for name in ("perplexity", "sacrebleu"):
        values = [run.validation[name] for run in runs]
        summary[f"measured_{name}"] = round(statistics.mean(values), 2)
        summary[f"measured_{name}_spread"] = round(max(values) - min(values), 2)
        change = statistics.mean(values) - base[f"measured_{name}"] if base else 0.0
        summary[f"measured_{name}_change"] = round(change, 2)
    return summary


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="the folder of Multi30k")
    parser.add_argument("--output", required=True, help="where the runs are kept")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument(
        "--num_jobs", "--num-jobs", type=int, default=2, choices=range(1, 65)
    )
    parser.add_argument("--only_report", "--only-report", action="store_true")
    parser.add_argument("--format", choices=get_args(Format), default="table")
    return parser.parse_args()


if __name__ == "__main__":
    main()
