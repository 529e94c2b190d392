"""What a benchmark writes down: figures, machine, versions, date and command."""

import argparse
import datetime
import importlib.metadata
import json
import pathlib
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.hardware import host
from transformer_jax.text_table import text_table

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
    print(work)
    print(_table(rows), flush=True)
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


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[column.replace("_", " ") for column in columns]]
    cells += [[_cell(row.get(name)) for name in columns] for row in rows]
    numbers = [
        place
        for place, name in enumerate(columns)
        if any(isinstance(row.get(name), int | float) for row in rows)
    ]
    return text_table(cells, right=numbers)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
