"""Lines that arrive one by one, and whether the next one has come yet."""

import collections
import os
import select
import time
from collections.abc import Iterator

from transformer_jax.data.lines import iter_lines
from transformer_jax.errors import UserError

_CHUNK = 1 << 16  # Bytes.
# What is worked on together, as far as it is there: sorting by length is what makes
# batches dense, but no line is written before most of the others are done.
_MOST_LINES, _MOST_CHARACTERS = 4_000, 400_000
# Seconds after which lines no longer wait for others to come.
_PAUSE = 0.05


class ArrivingLines:
    r"""The lines of a file, a pipe or a terminal, each with its "\n".

    Iterating waits for each line. A file holds all of its lines at once, a pipe those
    that were written so far.
    """

    def __init__(self, descriptor: int) -> None:
        """Read nothing yet."""
        self._descriptor = descriptor
        self._lines: collections.deque[bytes] = collections.deque()
        self._begun: list[bytes] = []  # The line whose end has not come yet.
        self._has_ended = False

    def __iter__(self) -> Iterator[bytes]:
        while self.has_next():
            yield self._lines.popleft()

    def has_next(self) -> bool:
        """Wait for the next line, and say whether there is one."""
        while not self._lines and not self._has_ended:
            self._read()
        return bool(self._lines)

    def comes_by(self, deadline: float) -> bool:
        """Tell whether the next line, or the end, is there by then.

        Args:
          deadline: in seconds of `time.monotonic`; one that is past asks about now.
        """
        while not self._lines and not self._has_ended:
            seconds = max(0.0, deadline - time.monotonic())
            if not select.select([self._descriptor], [], [], seconds)[0]:
                return False
            self._read()
        return True

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except OSError as error:
            raise UserError(f"Cannot read the text: {error.strerror}.") from error
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._lines.append(b"".join([*self._begun, end, b"\n"]))
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        if not chunk:
            self._has_ended = True
            if self._begun:
                self._lines.append(b"".join(self._begun))


def blocks_of_lines(lines: ArrivingLines) -> Iterator[list[str]]:
    """Yield lines that are there together, those before a line that is no text too.

    Raises:
      UserError: behind these, if a line is no text.
    """
    block: list[str] = []
    num_characters, deadline = 0, 0.0
    try:
        for line in iter_lines(lines):
            if not block:
                num_characters, deadline = 0, time.monotonic() + _PAUSE
            block.append(line)
            num_characters += len(line)
            is_full = len(block) >= _MOST_LINES or num_characters >= _MOST_CHARACTERS
            if is_full or not lines.comes_by(deadline):
                yield block
                block = []
    except UserError:
        yield block
        raise
    if block:
        yield block
