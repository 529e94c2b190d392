r"""How text enters the project: lines end at "\n" and nowhere else.

Python's text mode and `str.splitlines` also break lines at "\r", U+2028, U+0085 and
others, which shifts one side of a parallel text against the other.
"""

import contextlib
import dataclasses
import gzip
import io
import logging
import os
import pathlib
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from transformer_jax.data.file_formats import HEAD_BYTES, require_text
from transformer_jax.errors import UserError
from transformer_jax.files import as_path

STANDARD_INPUT = "/dev/stdin"
BOM = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"

# Characters that other programs take for the end of a line.
_ASCII_SEPARATORS = b"\v\f\r\x1c\x1d\x1e"
_OTHER_SEPARATORS = [c.encode() for c in "\x85\u2028\u2029"]
# What a line must hold to be odd.
_ODD = re.compile(b"|".join([rb"[\0\v\f\r\x1c-\x1e]", BOM, *_OTHER_SEPARATORS]))

# Characters that show nothing, and are no white space either: controls, what Unicode
# tells programs to ignore, marks of annotations, and the empty pattern of braille.
INVISIBLE_RANGES = (
    (0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAE), (0x34F, 0x350), (0x61C, 0x61D),
    (0x115F, 0x1161), (0x17B4, 0x17B6), (0x180B, 0x1810), (0x200B, 0x2010),
    (0x202A, 0x202F), (0x2060, 0x2070), (0x2800, 0x2801), (0x3164, 0x3165),
    (0xFE00, 0xFE10), (0xFEFF, 0xFF00), (0xFFA0, 0xFFA1), (0xFFF0, 0xFFFC),
    (0x1BCA0, 0x1BCA4), (0x1D173, 0x1D17B), (0xE0000, 0xE1000),
)  # fmt: skip
_BLANK = re.compile(
    rf"[\s{''.join(f'{chr(a)}-{chr(b - 1)}' for a, b in INVISIBLE_RANGES)}]*"
)

# So many NULs may be a slip; more, in more than one line of a hundred, are no text.
_FEW_NULLS = 10

_LOGGER = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class LineCounts:
    """What was met on the way through a file."""

    lines: int = 0
    carriage_returns: int = 0
    byte_order_marks: int = 0
    separators_inside_lines: int = 0
    nulls: int = 0

    def __add__(self, other: "LineCounts") -> "LineCounts":
        ours, theirs = dataclasses.astuple(self), dataclasses.astuple(other)
        return LineCounts(*(a + b for a, b in zip(ours, theirs, strict=True)))

    def describe_oddities(self) -> str:
        """Return in words what was stripped and what was kept; "" for neither."""
        found = {
            "carriage returns stripped": self.carriage_returns,
            "byte-order marks stripped": self.byte_order_marks,
            "other separators kept inside lines": self.separators_inside_lines,
            "NULs kept": self.nulls,
        }
        return ", ".join(f"{what}: {count}" for what, count in found.items() if count)

    def require_few_nulls(self, name: str) -> None:
        """Refuse a file that is hardly text.

        Raises:
          UserError: if it holds many NULs.
        """
        if self.nulls > max(_FEW_NULLS, self.lines // 100):
            raise UserError(
                f"{name} holds {self.nulls} NULs in {self.lines} lines, as binary "
                "files do, or text in another encoding than UTF-8. Check what it is, "
                "for example with `file`; `tr -d '\\000'` removes them."
            )


def is_blank(line: str) -> bool:
    """Tell whether a line shows nothing: white space and invisible characters alone."""
    return _BLANK.fullmatch(line) is not None


def iter_lines(stream: Iterable[bytes], name: str = "standard input") -> Iterator[str]:
    r"""Yield the lines of a binary stream without their ends.

    One "\r" before the "\n" and all byte-order marks go; everything else stays, so n
    lines in are n lines out. A missing last "\n" is fine. What went, and what stayed
    though other programs would end a line there, is counted and logged.

    Args:
      stream: a file opened in binary mode, which splits at "\n" alone.
      name: what to call the stream in an error.

    Raises:
      UserError: if a line is not UTF-8, or the stream is no text at all.
    """
    counts, head, number = LineCounts(), b"", 0
    for number, raw in enumerate(stream, start=1):
        if len(head) < HEAD_BYTES:
            head += raw[: HEAD_BYTES - len(head)]
            require_text(name, head)
        line = strip_line(raw)
        if _ODD.search(raw):
            counts += count_oddities(raw if raw.endswith(b"\n") else raw + b"\n")
        if not line and not raw.endswith(b"\n"):
            break  # A byte-order mark alone is no line.
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(name, number, error) from error
    if counts != LineCounts():
        (counts + LineCounts(lines=number)).require_few_nulls(name)
        _LOGGER.info("%s: %s", name, counts.describe_oddities())


def strip_line(raw: bytes) -> bytes:
    r"""Return a line without its end, one "\r" before that, and byte-order marks."""
    return raw.removesuffix(b"\n").removesuffix(b"\r").replace(BOM, b"")


def count_oddities(text: bytes) -> LineCounts:
    r"""Count what is not plain text in lines that end with "\n"; not the lines."""
    carriage_returns = text.count(b"\r\n")
    separators = len(text) - len(text.translate(None, delete=_ASCII_SEPARATORS))
    byte_order_marks = 0
    if not text.isascii():
        separators += sum(text.count(separator) for separator in _OTHER_SEPARATORS)
        byte_order_marks = text.count(BOM)
    return LineCounts(
        carriage_returns=carriage_returns,
        byte_order_marks=byte_order_marks,
        separators_inside_lines=separators - carriage_returns,
        nulls=text.count(0),
    )


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """Return all lines of a text, plain or gzip, blank ones included.

    Args:
      path: a file or a pipe; "-" for standard input.

    Raises:
      UserError: if there is no such file, or it is a broken gzip or not UTF-8.
    """
    path = STANDARD_INPUT if os.fspath(path) == "-" else path
    with open_bytes(path) as file:
        return list(iter_lines(file, str(path)))


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, through gzip where its first bytes say so.

    Raises:
      UserError: if the file cannot be read, here or while it is being read.
    """
    path = as_path(path)
    if path.is_dir():
        raise UserError(
            f"{path} is a directory; a text file was expected. Name the file."
        )
    try:
        with path.open("rb") as file:
            if not _holds_gzip(path, file):
                yield file
                return
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked  # type: ignore[misc]
    except FileNotFoundError as error:
        raise UserError(describe_missing(path)) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{path} is not a whole gzip file ({error}). Fetch or compress it again."
        ) from error
    except OSError as error:
        raise UserError(
            f"Cannot read {path}: {error.strerror or error}. Check the file and its "
            "permissions."
        ) from error


def describe_missing(path: pathlib.Path) -> str:
    """Say that there is no such file, and why if a link on its way leads nowhere."""
    if dead_link := describe_dead_link(path):
        return (
            f"There is no file {path}: {dead_link}. Restore what it points at, or link "
            "it anew."
        )
    return (
        f"There is no file {path}. Check the path; relative paths start at the data "
        "directory, or else at the current one."
    )


def describe_dead_link(path: pathlib.Path) -> str | None:
    """Name the link on the way to a file that leads nowhere, if there is one."""
    for link in (path, *path.parents):
        if link.is_symlink() and not link.exists():
            return f"{link} is a link to {os.readlink(link)}, which does not exist"
    return None


def is_gzip(path: str | os.PathLike[str]) -> bool:
    """Tell by name or by content whether a file is compressed."""
    path = as_path(path)
    with path.open("rb") as file:
        return _holds_gzip(path, file)


def _holds_gzip(path: pathlib.Path, file: io.BufferedReader) -> bool:
    """Do `is_gzip` for an open file, and leave all of it to be read.

    A pipe can be read once only: what a second opening takes is lost.
    """
    return path.suffix == ".gz" or file.peek(2).startswith(_GZIP_MAGIC)


def not_utf8(path: str, line_number: int, error: UnicodeDecodeError) -> UserError:
    """Return the error for a line that is not UTF-8; lines count from 1."""
    byte = error.object[error.start]
    advice = (
        "Convert the file from the encoding that it is in, for example from Latin-1 "
        "with `iconv -f ISO-8859-1 -t UTF-8`."
    )
    if b"\0" in error.object[: error.start + HEAD_BYTES]:
        advice = (
            "It holds NULs too, as binary files do: find out what it is, for example "
            "with `file`."
        )
    return UserError(
        f"{path}, line {line_number}: byte 0x{byte:02x} at byte {error.start + 1} of "
        f"the line is not UTF-8. {advice}"
    )
