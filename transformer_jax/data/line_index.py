r"""Where each line of a text file starts, kept on disk: any line is one seek away.

The file is read once, in blocks and with numpy, whatever its size. What would shift or
spoil lines is checked on the way, and what is merely odd is counted.
"""

import dataclasses
import functools
import hashlib
import json
import logging
import mmap
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

from transformer_jax.data.file_formats import HEAD_BYTES, require_text
from transformer_jax.data.lines import (
    BOM,
    INVISIBLE_RANGES,
    LineCounts,
    count_oddities,
    describe_missing,
    is_blank,
    is_gzip,
    not_utf8,
    open_bytes,
    strip_line,
)
from transformer_jax.errors import UserError
from transformer_jax.files import (
    as_path,
    read_checked_json,
    sha256_of,
    with_checksum,
    write_atomically,
)

_LOGGER = logging.getLogger(__name__)

# Part of every index's name: raise it when the rules of reading change.
_FORMAT_VERSION = 3
_BLOCK_BYTES = 1 << 24
_NEWLINE, _TAB = ord("\n"), ord("\t")

# For each byte 0 if it is in a character that shows nothing, else 1. A line with a 1 is
# not blank; the few others are looked at one by one.
_SPACES = {ord(c) for c in map(chr, range(0x3001)) if c.isspace()}
_INVISIBLE = _SPACES.union(*(range(*limits) for limits in INVISIBLE_RANGES))
_BLANK_BYTES = {byte for code in _INVISIBLE for byte in chr(code).encode()}
_IS_LETTER = bytes(byte not in _BLANK_BYTES for byte in range(256))


class LineIndex:
    """Random access to the lines of one indexed file.

    Attributes:
      path: the file as the person named it.
      counts: what the file holds.
      blank: sorted numbers of the lines that are blank or, with `has_columns`, blank on
        either side of their tab.
      sha256: of the file's (unpacked) bytes.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        directory: str | os.PathLike[str],
        *,
        has_columns: bool = False,
    ) -> None:
        """Open the index of `path` under `directory`, and make it first if need be.

        Args:
          path: a text file, plain or gzip; gzip is unpacked once into `directory`.
          directory: where indices are kept; one that fits the file is used again.
          has_columns: whether each line must hold exactly one tab.

        Raises:
          UserError: if the file is missing, empty, not UTF-8, or without its tabs.
        """
        path = as_path(path)
        self.path = str(path)
        require_regular_file(path)
        with open_bytes(path):  # The errors of a path that cannot be read.
            stat = os.stat(path)
        name = [
            os.path.realpath(path),
            stat.st_size,
            stat.st_mtime_ns,
            stat.st_ctime_ns,
        ]
        key = json.dumps([_FORMAT_VERSION, has_columns, *name])
        stem = hashlib.sha256(key.encode()).hexdigest()[:32]
        base = pathlib.Path(directory) / stem
        self._offsets_path = base.with_suffix(".offsets")
        self._text_path = base.with_suffix(".txt") if is_gzip(path) else path
        summary_path = base.with_suffix(".json")
        summary = read_checked_json(summary_path)
        if summary is None or not self._is_whole(summary):
            summary = self._build(summary_path, has_columns)
        self.counts = LineCounts(**summary["counts"])
        self.sha256: str = summary["sha256"]
        self.blank = np.array(summary["blank"], np.int64)

    def __len__(self) -> int:
        return self.counts.lines

    def __getitem__(self, number: int) -> str:
        start, stop = self._offsets[number : number + 2].tolist()
        return strip_line(self._text[start : stop - 1]).decode("utf-8")

    def __getstate__(self) -> dict[str, Any]:
        opened = ("_offsets", "_text")
        return {name: v for name, v in self.__dict__.items() if name not in opened}

    @functools.cached_property
    def _offsets(self) -> np.ndarray:
        """[lines + 1] starts of the lines; the last is one past the final newline."""
        return np.memmap(self._offsets_path, np.uint64, mode="r")

    @functools.cached_property
    def _text(self) -> mmap.mmap:
        with self._text_path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _is_whole(self, summary: dict[str, Any]) -> bool:
        """Say whether the files of this index are what was written."""
        try:
            is_whole = sha256_of(self._offsets_path) == summary["offsets_sha256"]
            if self._is_unpacked:
                is_whole &= sha256_of(self._text_path) == summary["sha256"]
        except (OSError, KeyError):
            is_whole = False
        if not is_whole:
            _LOGGER.warning("The index of %s is damaged", self.path)
        return is_whole

    @property
    def _is_unpacked(self) -> bool:
        return self._text_path != pathlib.Path(self.path)

    def _build(self, summary_path: pathlib.Path, has_columns: bool) -> dict[str, Any]:
        """Unpack if need be, find the lines, and write and return the summary."""
        _LOGGER.info("Indexing %s", self.path)
        if self._is_unpacked:
            with (
                open_bytes(self.path) as packed,
                write_atomically(self._text_path) as text,
            ):
                shutil.copyfileobj(packed, text, _BLOCK_BYTES)
        scan = _Scan(self.path, has_columns)
        with (
            self._text_path.open("rb") as text,
            write_atomically(self._offsets_path) as out,
        ):
            for starts in scan.run(text):
                out.write(starts.tobytes())
        if not scan.counts.lines:
            raise UserError(
                f"{self.path} is empty; one sentence on each line was expected. Check "
                "that the right file is named."
            )
        summary = {
            "path": self.path,
            "counts": dataclasses.asdict(scan.counts),
            "sha256": scan.sha256.hexdigest(),
            "blank": [int(n) for n in scan.blank],
            "offsets_sha256": sha256_of(self._offsets_path),
        }
        with write_atomically(summary_path) as out:
            out.write(json.dumps(with_checksum(summary)).encode())
        return summary


class _Scan:
    """One pass over a file, block by block."""

    def __init__(self, path: str, has_columns: bool) -> None:
        self.path = path
        self.has_columns = has_columns
        self.counts = LineCounts()
        self.blank: list[int] = []
        self.sha256 = hashlib.sha256()

    def run(self, file: Any) -> Iterator[np.ndarray]:
        """Yield the starts of lines in blocks, and at last the end of the text."""
        start = 0
        for block in _whole_line_blocks(file):
            self.sha256.update(block)
            if start == 0:
                require_text(self.path, block[:HEAD_BYTES])
            if not block.endswith(b"\n"):
                last_line = block[block.rfind(b"\n") + 1 :]
                if not last_line.replace(BOM, b""):  # A mark alone is no line.
                    self.counts += count_oddities(last_line)
                    block = block.removesuffix(last_line)
                else:
                    block += b"\n"
            if block:
                yield start + self._scan_block(block)
                start += len(block)
        self.counts.require_few_nulls(self.path)
        yield np.array([start], np.uint64)

    def _scan_block(self, text: bytes) -> np.ndarray:
        """Check and count the lines of a block that ends with a newline."""
        self._check_utf8(text)
        codes = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(codes == _NEWLINE)
        starts = np.concatenate([[0], ends[:-1] + 1])
        blank = self.counts.lines + self._blank_lines(text, codes, starts, ends)
        self.blank += blank.tolist()
        self.counts += count_oddities(text) + LineCounts(lines=len(ends))
        return starts.astype(np.uint64)

    def _blank_lines(
        self, text: bytes, codes: np.ndarray, starts: np.ndarray, ends: np.ndarray
    ) -> np.ndarray:
        """Return which lines of the block are blank, on either side of a tab if any."""
        if self.has_columns:
            ends = np.flatnonzero((codes == _NEWLINE) | (codes == _TAB))
            field_starts = np.concatenate([[0], ends[:-1] + 1])
        else:
            field_starts = starts
        is_letter = np.frombuffer(text.translate(_IS_LETTER), np.uint8)
        suspects = np.flatnonzero(np.bitwise_or.reduceat(is_letter, field_starts) == 0)
        blank = [
            i for i in suspects if is_blank(text[field_starts[i] : ends[i]].decode())
        ]
        lines = np.searchsorted(starts, field_starts[blank], side="right") - 1
        if self.has_columns:
            fields = np.searchsorted(field_starts, starts)
            num_fields = np.diff(np.append(fields, len(field_starts)))
            self._check_columns(num_fields, lines)
        return np.unique(lines)

    def _check_columns(self, num_fields: np.ndarray, blank_lines: np.ndarray) -> None:
        wrong = np.flatnonzero(num_fields != 2)
        # A line with nothing at all on it is a blank pair, not a broken one.
        wrong = wrong[~((num_fields[wrong] == 1) & np.isin(wrong, blank_lines))]
        if wrong.size:
            number, tabs = self.counts.lines + wrong[0] + 1, num_fields[wrong[0]] - 1
            raise UserError(
                f"{self.path}, line {number}: found {tabs} tabs, expected exactly one, "
                "between source and target. Mend the line, or name two aligned files."
            )

    def _check_utf8(self, text: bytes) -> None:
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start)
            start = text.rfind(b"\n", 0, error.start) + 1
            inside = UnicodeDecodeError(
                error.encoding,
                text[start:],
                error.start - start,
                error.end,
                error.reason,
            )
            number = self.counts.lines + line + 1
            raise not_utf8(self.path, number, inside) from error


def require_regular_file(path: pathlib.Path) -> None:
    """Refuse what is missing, and pipes, before one of them is opened and waited for.

    Raises:
      UserError: names the path.
    """
    is_stream = path.name == "-" or path.exists()
    if is_stream and not (path.is_file() or path.is_dir()):
        raise UserError(
            f"{path} is a pipe or a device, and the text of a run must be in regular "
            "files, which are read more than once. Write it to a file first."
        )
    if not path.exists():
        raise UserError(describe_missing(path))


def _whole_line_blocks(file: Any) -> Iterator[bytes]:
    """Yield the file in blocks that end where a line ends, however long it is."""
    pending = bytearray()
    while block := file.read(_BLOCK_BYTES):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield bytes(pending) + block[:cut]
            pending.clear()
        pending += block[cut:]
    if pending:
        yield bytes(pending)
