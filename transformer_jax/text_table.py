"""A table for a terminal: columns aligned, a rule under the heading."""

from collections.abc import Collection, Sequence


def text_table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return rows of equally many cells as lines of text, the first as a heading.

    Args:
      rows: the cells.
      right: columns, counted from 0, whose cells stand flush right, as numbers do.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = []
    for row in (rows[0], rule, *rows[1:]):
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
