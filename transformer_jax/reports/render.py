"""A report for eyes, as a table for a terminal or Markdown, or as CSV or JSON."""

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from transformer_jax.text_table import paragraph, text_table

Format = Literal["table", "markdown", "csv", "json"]
Row = Mapping[str, Any]
_DASH = "–"


def spaced(count: int) -> str:
    """Write a count with a space between its thousands."""
    return f"{count:,}".replace(",", " ")


def powers(number: float) -> str:
    """Write operations as a power of ten."""
    digits, _, exponent = f"{number:.1e}".partition("e")
    return f"{digits}e{int(exponent)}"


def percent(share: float) -> str:
    """Write a share of one as whole percents."""
    return f"{share:.0%}".replace("%", " %")


def clock(hours: float) -> str:
    """Write hours as h:min:s, which reads well from seconds to weeks."""
    minutes, seconds = divmod(round(3600 * hours), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def decimals(number: int, unit: float = 1) -> Callable[[float], str]:
    """Return what writes numbers in a unit with equally many decimals."""
    return lambda value: f"{value / unit:.{number}f}"


def by_itself(value: Any) -> str:
    """Write a value that shares its column with values of other kinds."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return spaced(value)
    if isinstance(value, float):
        return powers(value) if value >= 1e6 else f"{value:.4g}"
    return str(value)


@dataclasses.dataclass(frozen=True)
class Column:
    """One value of every row.

    Attributes:
      name: for programs: in JSON and CSV.
      heading: for people, in words, with the unit; "" for programs alone.
      write: how people read a value that is not None.
    """

    name: str
    heading: str
    write: Callable[[Any], str] = by_itself


@dataclasses.dataclass(frozen=True)
class Part:
    """What people see as one table.

    Attributes:
      title: a heading; "" for the only part of a report.
      columns: those without any value are left out.
      rows: a value or None for each column, by its name.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]


@dataclasses.dataclass(frozen=True)
class Report:
    """Tables, with what must be read beside them.

    Attributes:
      title: a heading.
      parts: for people, who see several tables rather than a wide one.
      rows: for programs; each has every column of the parts.
      notes: sentences below the tables; JSON and CSV leave them out.
    """

    title: str
    parts: Sequence[Part]
    rows: Sequence[Row]
    notes: Sequence[str] = ()


def one_table(
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    notes: Sequence[str] = (),
) -> Report:
    """Return a report of one part; the arguments are those of part and report."""
    return Report(title, [Part("", columns, rows)], rows, notes)


def render(report: Report, format_name: Format) -> str:
    """Return the report as text, without a final newline.

    JSON is a list of rows, each with every column; what is not known is null there,
    empty in CSV and a dash for people.
    """
    if format_name == "table":
        return _render_text(report)
    if format_name == "markdown":
        return _render_markdown(report)
    columns = [column.name for part in report.parts for column in part.columns]
    names = list(dict.fromkeys(columns))
    if format_name == "json":
        rows = [{name: row.get(name) for name in names} for row in report.rows]
        return json.dumps(rows, indent=2, ensure_ascii=False)
    file = io.StringIO()
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(report.rows)
    return file.getvalue().rstrip("\n")


def _render_markdown(report: Report) -> str:
    blocks = [f"# {report.title}"]
    for part in _filled(report):
        blocks += [f"## {part.title}"] if part.title else []
        cells, numbers = _cells(part)
        rule = ["---:" if n in numbers else "---" for n in range(len(cells[0]))]
        lines = [
            [cell.replace("|", "\\|") for cell in row]
            for row in (cells[0], rule, *cells[1:])
        ]
        blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    if report.notes:
        blocks.append("\n".join(f"- {note}" for note in report.notes))
    return "\n\n".join(blocks)


def _render_text(report: Report) -> str:
    blocks = [paragraph(report.title)]
    for part in _filled(report):
        blocks += [paragraph(part.title)] if part.title else []
        cells, numbers = _cells(part)
        table = text_table([list(map(_unmarked, row)) for row in cells], numbers)
        blocks.append(table)
    if report.notes:
        notes = [paragraph(f"- {_unmarked(note)}") for note in report.notes]
        blocks.append("\n".join(notes))
    return "\n\n".join(blocks)


def _unmarked(text: str) -> str:
    """Drop what Markdown marks code by: a terminal shows code as it is typed."""
    return text.replace("`", "")


def _filled(report: Report) -> list[Part]:
    """Return the parts that have rows, with the columns that have values."""
    parts = []
    for part in report.parts:
        columns = [
            column
            for column in part.columns
            if column.heading
            and any(row.get(column.name) is not None for row in part.rows)
        ]
        if columns:
            parts.append(dataclasses.replace(part, columns=columns))
    return parts


def _cells(part: Part) -> tuple[list[list[str]], list[int]]:
    """Return the headings and cells of a part, and which columns are numbers."""
    cells = [[column.heading for column in part.columns]]
    for row in part.rows:
        values = [(column, row.get(column.name)) for column in part.columns]
        cells.append([_DASH if v is None else column.write(v) for column, v in values])
    numbers = [
        place
        for place, column in enumerate(part.columns)
        if not any(isinstance(row.get(column.name), str | bool) for row in part.rows)
    ]
    return cells, numbers
