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
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from transformer_jax.errors import UserError

BOM = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"

# Characters that other programs take for the end of a line.
_ASCII_SEPARATORS = b"\v\f\r\x1c\x1d\x1e"
_OTHER_SEPARATORS = [c.encode() for c in "\x85\u2028\u2029"]

_LOGGER = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class LineCounts:
    """What was met on the way through a file."""

    lines: int = 0
    carriage_returns: int = 0
    byte_order_marks: int = 0
    separators_inside_lines: int = 0

    def __add__(self, other: "LineCounts") -> "LineCounts":
        ours, theirs = dataclasses.astuple(self), dataclasses.astuple(other)
        return LineCounts(*(a + b for a, b in zip(ours, theirs, strict=True)))

    def describe_oddities(self) -> str:
        """Return in words what was stripped and what was kept."""
        return (
            f"stripped carriage returns: {self.carriage_returns}, byte-order marks: "
            f"{self.byte_order_marks}; other separators kept inside lines: "
            f"{self.separators_inside_lines}"
        )


def iter_lines(stream: Iterable[bytes], name: str = "standard input") -> Iterator[str]:
    r"""Yield the lines of a binary stream without their ends.

    One "\r" before the "\n" and a byte-order mark at the very start go; everything else
    stays, so n lines in are n lines out. A missing last "\n" is fine. What went, and
    what stayed though other programs would end a line there, is counted and logged.

    Args:
      stream: a file opened in binary mode, which splits at "\n" alone.
      name: what to call the stream in an error.

    Raises:
      UserError: if a line is not UTF-8.
    """
    carriage_returns = byte_order_marks = separators = 0
    for number, raw in enumerate(stream, start=1):
        if number == 1 and raw.startswith(BOM):
            byte_order_marks = 1
            raw = raw.removeprefix(BOM)
            if not raw:  # A file of a byte-order mark alone holds no line.
                break
        raw = raw.removesuffix(b"\n")
        if raw.endswith(b"\r"):
            carriage_returns += 1
            raw = raw.removesuffix(b"\r")
        separators += count_separators(raw)
        try:
            yield raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(name, number, error) from error
    if carriage_returns or byte_order_marks or separators:
        counts = LineCounts(
            carriage_returns=carriage_returns,
            byte_order_marks=byte_order_marks,
            separators_inside_lines=separators,
        )
        _LOGGER.info("%s: %s", name, counts.describe_oddities())


def count_separators(text: bytes) -> int:
    r"""Count what other programs than this one take for the end of a line.

    Args:
      text: without the "\r" of Windows line ends.
    """
    count = len(text) - len(text.translate(None, delete=_ASCII_SEPARATORS))
    if not text.isascii():
        count += sum(text.count(separator) for separator in _OTHER_SEPARATORS)
    return count


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """Return all lines of a text file, plain or gzip, blank ones included.

    Raises:
      UserError: if the file is missing, not a file, a broken gzip or not UTF-8.
    """
    with open_bytes(path) as file:
        return list(iter_lines(file, str(path)))


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, through gzip where its first bytes say so.

    Raises:
      UserError: if the file cannot be read, here or while it is being read.
    """
    path = pathlib.Path(path)
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
        raise UserError(
            f"There is no file {path}. Check the path; relative paths start at the "
            "data directory, or else at the current one."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{path} is not a whole gzip file ({error}). Fetch or compress it again."
        ) from error
    except OSError as error:
        raise UserError(
            f"Cannot read {path}: {error.strerror or error}. Check the file and its "
            "permissions."
        ) from error


def is_gzip(path: str | os.PathLike[str]) -> bool:
    """Tell by name or by content whether a file is compressed."""
    path = pathlib.Path(path)
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
    return UserError(
        f"{path}, line {line_number}: byte 0x{byte:02x} at byte {error.start + 1} of "
        "the line is not UTF-8. Convert the file, for example with "
        "`iconv -f ISO-8859-1 -t UTF-8`."
    )
