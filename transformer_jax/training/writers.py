"""Where the numbers of a run are written while it trains."""

import contextlib
import logging
import math
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from transformer_jax.files import write_atomically
from transformer_jax.training.metrics_file import read_rows, row_line

_LOGGER = logging.getLogger(__name__)


class MetricWriter:
    """Where numbers of a step go. A subclass overrides what concerns it."""

    def begin(self, start_step: int, num_steps: int) -> None:
        """Hear, before the first step, where training goes on and where it will end.

        What a run that was broken off wrote of later steps is about to come again.
        """

    def wait_for_compiler(self, num_programs: int) -> None:
        """Hear, before a step, how many programs XLA has left to compile.

        The step waits if its own is among them.
        """

    def advance(self, step: int) -> None:
        """Hear that `step` updates are done (or on their way on the device)."""

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Take the numbers of a step, under names such as "train/loss"."""

    def close(self) -> None:
        """Bring everything to the disk."""


class MetricWriters(MetricWriter):
    """Several writers as one."""

    def __init__(self, writers: Sequence[MetricWriter]) -> None:
        self._writers = tuple(writers)

    def __enter__(self) -> "MetricWriters":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def begin(self, start_step: int, num_steps: int) -> None:
        for writer in self._writers:
            writer.begin(start_step, num_steps)

    def wait_for_compiler(self, num_programs: int) -> None:
        for writer in self._writers:
            writer.wait_for_compiler(num_programs)

    def advance(self, step: int) -> None:
        for writer in self._writers:
            writer.advance(step)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        for writer in self._writers:
            writer.write(step, values)

    def close(self) -> None:
        with contextlib.ExitStack() as stack:  # Closes the others if one fails.
            for writer in self._writers:
                stack.callback(writer.close)


class JsonLinesWriter(MetricWriter):
    """One JSON object a line, one line a step; what is not a number becomes null."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = pathlib.Path(path)
        self._file: TextIO | None = None

    def begin(self, start_step: int, num_steps: int) -> None:
        """Open the file to go on after `start_step`; lines of later steps go."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        rows = list(read_rows(self._path))
        kept = [row for row in rows if row["step"] <= start_step]
        if len(kept) < len(rows):
            _LOGGER.info(
                "%s: the rows after step %d, up to step %d, go; these steps are taken "
                "again",
                self._path,
                start_step,
                max(row["step"] for row in rows),
            )
        with write_atomically(self._path) as file:
            file.write("".join(map(row_line, kept)).encode())
        self._file = open(self._path, "a", encoding="utf-8")

    def write(self, step: int, values: Mapping[str, float]) -> None:
        clean = {k: v if math.isfinite(v) else None for k, v in values.items()}
        assert self._file is not None
        self._file.write(row_line({"step": step, **clean}))
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class TensorBoardWriter(MetricWriter):
    """Scalars for TensorBoard, written without TensorFlow."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = os.fspath(directory)
        self._writer: Any = None

    def begin(self, start_step: int, num_steps: int) -> None:
        """Start a file of events; those of later steps in older files are hidden."""
        from tensorboardX import SummaryWriter

        self._writer = SummaryWriter(self._directory, purge_step=start_step + 1)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
