"""Time a training from its start to full speed, with a cold and a warm cache.

python -m benchmarks.start [--config configs/multi30k_tiny_long.py] [--data DIR]
    [--output benchmarks/results/NAME.json] [-- more flags of train.py]

Runs train.py twice from nothing, text and tokenizer included, on DIR or else on the
built-in corpus: first without any compiled program, then with those of the first time.
Each run ends after `--steps` steps or `--limit` seconds. Full speed is the median of
the reported speeds of the last half; it is reached after the last report of less than
half of that. One program for each shape of batch is compiled.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.records import add_record_arguments, record
from benchmarks.training_run import grammar_flags, start_training
from transformer_jax.commands.messages import command
from transformer_jax.errors import UserError
from transformer_jax.training.metrics_file import read_rows


class Report(NamedTuple):
    """A row of metrics.jsonl, and when it was there.

    Attributes:
      seconds: since the start of the process.
      step: of the run.
      speed: target tokens a second since the report before.
    """

    seconds: float
    step: int
    speed: float


def main() -> None:
    """Measure and record."""
    options = _parse()
    rows: list[dict[str, Any]] = []
    device: dict[str, Any] = {}
    with command("benchmarks.start"), tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for cache in ("cold", "warm"):
            reports = _train(options, folder / cache, folder / "compiled")
            rows.append({"cache": cache, **summarise(reports)})
            hardware = json.loads((folder / cache / "hardware.json").read_text("utf-8"))
            device = {
                name: hardware[0][name] for name in ("device_kind", "num_devices")
            }
        work = f"start to full speed, {options.config}, {' '.join(options.flags)}"
        record(options, work.strip(" ,"), rows, device)


def summarise(reports: Sequence[Report]) -> dict[str, Any]:
    """Return when the first report came and when full speed was reached.

    Args:
      reports: of a run, in order.
    """
    full = statistics.median(report.speed for report in reports[len(reports) // 2 :])
    slow = [report for report in reports if report.speed < full / 2]
    return {
        "first_report_s": round(reports[0].seconds, 1),
        "full_speed_s": round(slow[-1].seconds if slow else reports[0].seconds, 1),
        "full_target_tokens_s": full,
        "steps": reports[-1].step,
        "seconds": round(reports[-1].seconds, 1),
    }


def _train(
    options: argparse.Namespace, run: pathlib.Path, cache: pathlib.Path
) -> list[Report]:
    """Train until there are steps enough, and return the reports."""
    text = grammar_flags()
    if options.data:
        text = [f"--config.data.directory={options.data}"]
    flags = [
        *text,
        f"--config.training.log_every_steps={options.log_every_steps}",
        "--config.evaluation.eval_every_steps=0",
        *options.flags,
    ]
    usual = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    environment = usual | {"JAX_COMPILATION_CACHE_DIR": str(cache)}
    start = time.monotonic()
    process = start_training(options.config, run, flags, environment)
    reports: list[Report] = []
    try:
        while process.poll() is None:
            time.sleep(0.05)
            now = time.monotonic() - start
            rows = list(read_rows(run / "metrics.jsonl"))
            for row in rows[len(reports) :]:
                reports.append(Report(now, row["step"], _speed(row)))
            if now > options.limit or (reports and reports[-1].step >= options.steps):
                break
    finally:
        _end(process)
    if not reports:
        log = run.with_suffix(".log").read_text("utf-8", errors="replace")
        raise UserError(
            f"{options.config} took no step in {options.limit:.0f} s. It said: "
            f"{log[-800:]}"
        )
    return reports


def _speed(row: Mapping[str, float]) -> float:
    """Return a row's target tokens a second; waiting for a compiler is part of it."""
    seconds = row.get("train/seconds", 0.0)
    return row["train/target_tokens"] / seconds if seconds else 0.0


def _end(process: Any) -> None:
    """Let the run save and stop, or end it if it will not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _parse() -> argparse.Namespace:
    arguments, flags = sys.argv[1:], []
    if "--" in arguments:
        place = arguments.index("--")
        arguments, flags = arguments[:place], arguments[place + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="configs/multi30k_tiny_long.py")
    parser.add_argument("--data", metavar="DIR", help="text, where the config finds it")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--log_every_steps", type=int, default=10)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a run")
    add_record_arguments(parser)
    options = parser.parse_args(arguments)
    options.flags = flags
    return options


if __name__ == "__main__":
    main()
