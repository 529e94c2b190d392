"""What a benchmark writes down: figures, machine, versions, date and command."""

import argparse
import datetime
import importlib.metadata
import json
import pathlib
import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.hardware import host
from transformer_jax.reports.render import (
    Column,
    Report,
    by_itself,
    decimals,
    one_table,
    powers,
    render,
)

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
# What every file of results has; `read_record` holds them to it.
FIELDS = ("work", "command", "date", "machine", "versions", "rows", "note")

_PACKAGES = (
    "jax",
    "jaxlib",
    "flax",
    "optax",
    "numpy",
    "grain",
    "jax-cuda12-plugin",
    "jax-cuda13-plugin",
    "libtpu",
    "torch",
    "ctranslate2",
    "transformers",
)
# Where something lies on this machine is nobody's business.
_LEFT_OUT = {"--output": None, "--note": None}
_PLACES = {
    "--flax_examples": "PATH",
    "--workdir": "RUN",
    "--data": "DIR",
    "--keep": "DIR",
}


_MOST_DECIMALS = 4
# What people read instead of the names of figures, with the unit.
_HEADINGS = {
    "ms": "time, ms",
    "low": "lowest, ms",
    "high": "highest, ms",
    "times_ours": "times ours",
    "times_low": "times ours, lowest",
    "times_high": "times ours, highest",
    "target_tokens_s": "target tokens/s",
    "full_target_tokens_s": "target tokens/s at full speed",
    "sentences_s": "sentences/s",
    "pairs_s": "pairs/s",
    "tflops": "TFLOP/s",
    "of_peak": "share of the chip's peak",
    "of_product": "share of a large product's rate",
    "peak_gib": "most memory, GiB",
    "scratch_gib": "scratch, GiB",
    "compile_seconds": "compiling, s",
    "compile_processor_seconds": "compiling, processor s",
    "plan_seconds": "planning, s",
    "first_report_s": "first report, s",
    "full_speed_s": "full speed, s",
    "seconds": "all, s",
    "real_source": "real tokens, share of source",
    "real_target": "real tokens, share of target",
}


def add_record_arguments(parser: argparse.ArgumentParser) -> None:
    """Add where to write the record and what to say beside it."""
    parser.add_argument("--output", metavar="FILE", help="write the record as JSON")
    parser.add_argument("--note", default="", help="what a reader has to know")


def record(
    options: argparse.Namespace,
    work: str,
    rows: Sequence[Mapping[str, Any]],
    device: Mapping[str, Any] | None = None,
) -> None:
    """Print rows as a table, and write them if an output is named.

    Args:
      options: with `add_record_arguments`.
      work: what was measured.
      rows: one mapping each, from a figure's name to a number, a text or None.
      device: "device_kind", "num_devices" and such, where there is an accelerator.
    """
    print(render(results_table(work, rows), "table"), flush=True)
    if options.output is None:
        return
    path = pathlib.Path(options.output)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "work": work,
        "command": command_line(sys.argv),
        "date": datetime.date.today().isoformat(),
        "machine": {**host(), **(device or {})},
        "versions": versions(),
        "note": options.note,
        "rows": rows,
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def results_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Report:
    """Return rows of results as a table for people, with columns as rows name them."""
    columns = []
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row[name] for row in rows if row.get(name) is not None]
        are_numbers = {float} <= set(map(type, values)) <= {float, int}
        write = _alike(values) if are_numbers else by_itself
        heading = _HEADINGS.get(name, name.replace("_", " "))
        columns.append(Column(name, heading, write))
    return one_table(title, columns, rows)


def _alike(values: Sequence[float]) -> Callable[[float], str]:
    """Return what writes numbers with equally many decimals.

    So many that the smallest has three digits, if four decimals are enough for that.
    """
    smallest = min((abs(value) for value in values if value), default=1.0)
    if max(values) >= 1e6 or smallest < 1e-3:
        return powers
    for number in range(_MOST_DECIMALS):
        if smallest >= 100 / 10**number:
            return decimals(number)
    return decimals(_MOST_DECIMALS)


def read_record(path: pathlib.Path) -> dict[str, Any]:
    """Return a record from its file.

    Raises:
      ValueError: if one of its fields, the machine's or the versions' is missing.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    missing = [name for name in FIELDS if name not in content]
    missing += [
        f"machine.{name}"
        for name in ("processor", "cores", "memory_gib")
        if name not in content.get("machine", {})
    ]
    missing += [
        f"versions.{name}"
        for name in ("python", "jax", "jaxlib", "flax")
        if name not in content.get("versions", {})
    ]
    if missing:
        raise ValueError(
            f"{path} lacks {', '.join(missing)}: expected a file that a benchmark "
            "wrote with --output. Measure again."
        )
    return content


def versions() -> dict[str, str]:
    """Return the versions of Python and of what is installed of the packages named."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def command_line(argv: Sequence[str]) -> str:
    """Return how this program was called, without places on this machine.

    Args:
      argv: path of the module, then its arguments.
    """
    words, rest = ["python", "-m", f"benchmarks.{pathlib.Path(argv[0]).stem}"], argv[1:]
    arguments = iter(rest)
    for word in arguments:
        name, is_joined, _ = word.partition("=")
        if name in (*_LEFT_OUT, *_PLACES):
            if not is_joined:
                next(arguments, None)
            if name in _PLACES:
                words += [name, _PLACES[name]]
        else:
            words.append(word)
    return shlex.join(words)
