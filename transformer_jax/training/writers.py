"""Where the numbers of a run are written while it trains."""

import contextlib
import logging
import math
import os
import pathlib
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from transformer_jax.files import write_atomically
from transformer_jax.training.metrics import WAITED
from transformer_jax.training.metrics_file import read_rows, row_line

_LOGGER = logging.getLogger(__name__)
_PER_SECOND = "_per_second"


class MetricWriter:
    """Where numbers of a step go. A subclass overrides what concerns it."""

    def begin(self, start_step: int, num_steps: int) -> None:
        """Hear, before the first step, where training goes on and where it will end.

        What a run that was broken off wrote of later steps is about to come again.
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


class ProgressWriter(MetricWriter):
    """A progress bar on a terminal; elsewhere a line now and then."""

    def __init__(
        self, stream: TextIO | None = None, *, seconds_between_lines: float = 30.0
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._seconds_between_lines = seconds_between_lines
        self._bar: Any = None

    def begin(self, start_step: int, num_steps: int) -> None:
        """Show the bar, or start the clock for the first line."""
        from tqdm import tqdm

        self._num_steps = num_steps
        self._start_step = start_step
        self._start = time.monotonic()
        self._waited = 0.0
        self._last_line = -math.inf
        if self._stream.isatty():
            self._bar = tqdm(
                total=num_steps,
                initial=start_step,
                unit="step",
                file=self._stream,
                dynamic_ncols=True,
                bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]",
                postfix="XLA compiles the first step",
            )

    def advance(self, step: int) -> None:
        if self._bar is not None:
            if self._bar.n == self._start_step:
                self._bar.set_postfix_str("")
            self._bar.update(step - self._bar.n)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        text, now = _summary(values), time.monotonic()
        self._waited += values.get(f"train/{WAITED}", 0.0)
        left = _time_left(
            step,
            self._start_step,
            self._num_steps,
            now - self._start - self._waited,
        )
        scores = {k: v for k, v in values.items() if not k.startswith("train/")}
        if self._bar is not None:
            if text:
                # A narrow terminal cuts the end off.
                self._bar.set_postfix_str(", ".join(filter(None, [left, text])))
            if scores:
                self._bar.write(f"step {step}: {_scores(scores)}", file=self._stream)
            return
        is_due = now - self._last_line >= self._seconds_between_lines
        if scores or is_due or step == self._num_steps:
            self._last_line = now
            parts = [f"step {step}/{self._num_steps}", text, _scores(scores), left]
            print("  ".join(filter(None, parts)), file=self._stream, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _summary(values: Mapping[str, float]) -> str:
    """Say in short how training goes; nothing if `values` are not of training."""
    if "train/loss" not in values:
        return ""
    parts = [
        f"loss {values['train/loss']:.3f}",
        f"learning rate {values['train/learning_rate']:.2e}",
    ]
    # The last by name: of source and target the target, which is what is learnt.
    speeds = sorted(name for name in values if name.endswith(_PER_SECOND))
    for name in speeds[-1:]:
        tokens = name.removeprefix("train/").removesuffix(_PER_SECOND)
        parts.append(f"{values[name]:.0f} {tokens.replace('_', ' ')}/s")
    if "train/padding_share" in values:
        parts.append(f"padding {100 * values['train/padding_share']:.0f} %")
    return ", ".join(parts)


def _scores(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def _time_left(step: int, start_step: int, num_steps: int, elapsed: float) -> str:
    if step <= start_step:
        return ""
    seconds = round((num_steps - step) * elapsed / (step - start_step))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d} left"
