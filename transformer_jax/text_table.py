"""Tables and sentences for a terminal of `WIDTH` columns."""

import itertools
import re
import unicodedata
from collections.abc import Collection, Sequence

WIDTH = 100
_GAP = "  "
# Longer words, such as names of files, are cut rather than other texts squeezed; and
# where that is not enough, those that are longer than the second number.
_LONG_WORDS = 32, 16
_WORD = re.compile(r"\s+|\S+")
_PART_OF_WORD = re.compile(r"\s+|[^\s-]*-|[^\s-]+")


def text_table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return rows of equally many cells as lines of text, the first as a heading.

    Where a table is too wide, its headings are wrapped; where that is not enough, its
    texts, between words if possible. Numbers stay whole: columns for which there is no
    room stand in a table below, which repeats the first column.

    Args:
      rows: the cells.
      right: columns, counted from 0, whose cells stand flush right, as numbers do.
    """
    widths = _choose_widths(rows, right)
    ends = itertools.accumulate(widths, lambda end, width: end + len(_GAP) + width)
    fitting = sum(end <= WIDTH for end in ends)
    if 1 < fitting < len(widths):
        above = [row[:fitting] for row in rows]
        below = [[row[0], *row[fitting:]] for row in rows]
        moved = [0] if 0 in right else []
        moved += [column - fitting + 1 for column in right if column >= fitting]
        return f"{text_table(above, right)}\n\n{text_table(below, moved)}"
    lines = []
    for number, row in enumerate(rows):
        wrapped = [
            [cell] if number and column in right else _wrap(cell, width, _PART_OF_WORD)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        if number == 0:  # Headings stand on the rule.
            height = max(map(len, wrapped))
            wrapped = [
                [""] * (height - len(cell)) + cell + ["-" * width]
                for cell, width in zip(wrapped, widths, strict=True)
            ]
        for line in itertools.zip_longest(*wrapped, fillvalue=""):
            padded = []
            for column, (cell, width) in enumerate(zip(line, widths, strict=True)):
                space = " " * (width - _width(cell))
                padded.append(space + cell if column in right else cell + space)
            lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)


def paragraph(text: str) -> str:
    """Wrap a sentence; further lines are indented, and words stay whole if they fit."""
    return f"\n{_GAP}".join(_wrap(text, WIDTH - len(_GAP), _WORD))


def _choose_widths(rows: Sequence[Sequence[str]], right: Collection[int]) -> list[int]:
    """Return each column's width: narrowed, the widest first, until a line fits."""
    columns = list(zip(*rows, strict=True))
    widths = [max(1, *map(_width, column)) for column in columns]
    # What is given up one after the other: headings on one line, texts on one line,
    # words in one piece.
    floors: list[list[int]] = []
    for column, (heading, *body) in enumerate(columns):
        of_heading = _longest(heading.split())
        text = max(of_heading, _longest(body))
        word = _longest(_PART_OF_WORD.findall("\n".join(body)))
        words = [max(of_heading, min(word, limit)) for limit in _LONG_WORDS]
        floors.append([text, *([text, text] if column in right else words)])
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - WIDTH
    for least in zip(*floors, strict=True):
        while excess > 0:
            slack = [
                width if width > floor else 0
                for width, floor in zip(widths, least, strict=True)
            ]
            if not any(slack):
                break
            widths[slack.index(max(slack))] -= 1
            excess -= 1
    return widths


def _wrap(text: str, width: int, unbroken: re.Pattern[str]) -> list[str]:
    """Split a text into lines, between what is `unbroken` unless that is too wide."""
    lines = [""]
    for part in unbroken.findall(text):
        if part.isspace():  # A line break, too.
            lines[-1] += " " if lines[-1] else ""
            continue
        if lines[-1] and _width(lines[-1] + part) > width:
            lines.append("")
        if _width(part) <= width:
            lines[-1] += part
            continue
        for char in part:
            if _width(lines[-1] + char) > width:
                lines.append("")
            lines[-1] += char
    return [line.rstrip() for line in lines]


def _longest(texts: Sequence[str]) -> int:
    return max(map(_width, texts), default=0)


def _width(text: str) -> int:
    """Count the columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
        if not unicodedata.combining(char)
    )
