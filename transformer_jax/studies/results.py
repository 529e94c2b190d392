"""What a study leaves: NAME.json for programs, NAME.svg and NAME.md for people."""

import dataclasses
import importlib.metadata
import json
import os
import pathlib
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from transformer_jax.files import write_atomically, write_json
from transformer_jax.reports.render import Row, by_itself, render
from transformer_jax.runs.hardware_record import processor_name
from transformer_jax.studies.study import Study
from transformer_jax.visualization import theme

# Of a study, whose seconds its page lists.
_MOST_PARTS = 15
_PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy")


def make_record(
    command: str, sizes: Any, rows: Sequence[Row], seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return what was found, and all that is needed to find it again.

    Args:
      command: as it is typed.
      sizes: the study's.
      rows: what it measured.
      seconds: what each of its parts took.
    """
    return {
        "command": command,
        "sizes": dataclasses.asdict(sizes),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _PACKAGES},
        },
        "machine": {
            "processor": processor_name(),
            "num_logical_cores": os.cpu_count(),
            "device": jax.devices()[0].device_kind,
        },
        "rows": list(rows),
    }


def write_results(
    study: Study, record: Mapping[str, Any], directory: pathlib.Path, name: str
) -> None:
    """Write the three files of a study into a folder.

    Raises:
      UserError: if one cannot be written.
    """
    write_json(directory / f"{name}.json", record)
    with theme.theme():
        figure = study.draw(record["rows"])
    theme.save(figure, directory / f"{name}.svg")
    page = make_page(study, record, name)
    with write_atomically(directory / f"{name}.md") as file:
        file.write(page.encode())


def make_page(study: Study, record: Mapping[str, Any], name: str) -> str:
    """Return the page: what it shows, picture, tables, and how they came about."""
    report = study.tabulate(record["rows"])
    title, _, tables = render(report, "markdown").partition("\n\n")
    seconds, machine = record["seconds"], record["machine"]
    sizes = record["sizes"].items()
    parts = f"{len(seconds)} parts; each is in the raw numbers"
    if len(seconds) <= _MOST_PARTS:
        parts = ", ".join(f"{part} {value:.1f}" for part, value in seconds.items())
    made = [
        f"command: `{record['command']}`",
        *[f"{key.replace('_', ' ')}: {_listed(value)}" for key, value in sizes],
        f"seconds: {sum(seconds.values()):.0f} ({parts})",
        f"device: {machine['device']}; host: {machine['processor']}, "
        f"{machine['num_logical_cores']} logical cores",
        "versions: " + ", ".join(f"{k} {v}" for k, v in record["versions"].items()),
        f"raw numbers: [{name}.json]({name}.json)",
    ]
    return "\n\n".join(
        [
            title,
            study.about,
            f"![{study.shows}]({name}.svg)",
            tables,
            "## How it was measured",
            "\n".join(f"- {line}" for line in made) + "\n",
        ]
    )


def _listed(value: Any) -> str:
    """Write a size for people; lists without brackets, mappings as JSON."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_listed, value))
    return json.dumps(value) if isinstance(value, Mapping) else by_itself(value)
