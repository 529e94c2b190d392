"""A report as Markdown, CSV or JSON."""

import csv
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

Format = Literal["markdown", "csv", "json"]
Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Report:
    """A table, with what must be read beside it.

    Attributes:
      title: a heading.
      rows: one mapping each, from a column's name to a number, a text or None; columns
        stand in the order in which rows first name them.
      notes: sentences below the table; JSON and CSV leave them out.
    """

    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()


def render(report: Report, format_name: Format) -> str:
    """Return the report as text, without a final newline.

    JSON is a list of rows, each with every column; what is not known is null there,
    empty in CSV and a dash in Markdown.
    """
    columns = list(dict.fromkeys(name for row in report.rows for name in row))
    if format_name == "json":
        rows = [{name: row.get(name) for name in columns} for row in report.rows]
        return json.dumps(rows, indent=2, ensure_ascii=False)
    if format_name == "csv":
        file = io.StringIO()
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(report.rows)
        return file.getvalue().rstrip("\n")
    return _render_markdown(report, columns)


def spaced(count: int) -> str:
    """Write a count with a space between its thousands."""
    return f"{count:,}".replace(",", " ")


def _render_markdown(report: Report, columns: Sequence[str]) -> str:
    header = [name.replace("_", " ") for name in columns]
    lines = [header, ["---"] * len(columns)]
    lines += [[_cell(row.get(name)) for name in columns] for row in report.rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "\n".join(f"- {note}" for note in report.notes)
    return "\n\n".join(filter(None, [f"# {report.title}", table, notes]))


def _cell(value: Any) -> str:
    """Write one value: FLOPs in powers of ten, counts with spaces, the rest as is."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return spaced(value)
    if isinstance(value, float):
        return f"{value:.1e}".replace("e+", "e") if value >= 1e6 else f"{value:.4g}"
    return str(value).replace("|", "\\|")
