"""Sums on the device, means on the host, and where they are written."""

import contextlib
import json
import math
import os
import pathlib
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import jax
import jax.numpy as jnp

from transformer_jax.files import write_atomically
from transformer_jax.training.objectives import MetricSums


class MetricWindow:
    """Sums over the steps since the last report, added up on the device.

    Attributes:
      longest_skips: the longest run of skipped updates that the last report saw,
        reports before it included.
    """

    def __init__(self) -> None:
        self._sums: MetricSums | None = None
        self._skips = (jnp.float32(0), jnp.float32(0))
        self.longest_skips = 0

    def add(self, sums: MetricSums) -> None:
        """Add one step's sums; nothing is fetched and nothing waits."""
        if self._sums is None:
            self._sums = jax.tree.map(jnp.zeros_like, sums)
        self._sums, self._skips = _add_step(self._sums, self._skips, sums)

    def report(self) -> dict[str, float]:
        """Fetch the sums, which waits for the last step, and start anew."""
        sums, (current, longest) = jax.device_get((self._sums or {}, self._skips))
        self._sums = None
        self._skips = (current, current)
        self.longest_skips = int(longest)
        return {name: float(value) for name, value in sums.items()}


@jax.jit
def _add_step(
    total: MetricSums, skips: tuple[jax.Array, jax.Array], sums: MetricSums
) -> tuple[MetricSums, tuple[jax.Array, jax.Array]]:
    current = jnp.where(sums["skipped"] > 0, skips[0] + 1, 0.0)
    longest = jnp.maximum(skips[1], current)
    return jax.tree.map(jnp.add, total, sums), (current, longest)


def means(sums: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Turn the sums of some steps into a report; a mean over nothing is NaN.

    Args:
      sums: as the objective and the train step name them.
      seconds: how long these steps took.

    Returns:
      loss, nll and accuracy per target token, perplexity (of the nll, so without
      smoothing), padding_share of all positions, target_tokens_per_second,
      gradient_norm per step; and as counts, so that reports can be added up, skipped
      (updates), source_tokens, target_tokens and seconds.
    """
    tokens = sums["target_tokens"]
    nll = _ratio(sums["nll"], tokens)
    num_real = sums["source_tokens"] + tokens
    num_updates = sums["steps"] - sums["skipped"]
    return {
        "loss": _ratio(sums["loss"], tokens),
        "nll": nll,
        "perplexity": math.exp(nll) if nll < 700 else math.inf,
        "accuracy": _ratio(sums["correct"], tokens),
        "padding_share": 1.0 - _ratio(num_real, sums["positions"]),
        "target_tokens_per_second": _ratio(tokens, seconds),
        "gradient_norm": _ratio(sums["gradient_norm"], num_updates),
        "skipped": sums["skipped"],
        "source_tokens": sums["source_tokens"],
        "target_tokens": tokens,
        "seconds": seconds,
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


class MetricWriter:
    """Where numbers of a step go. A subclass overrides what concerns it."""

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

    def __init__(self, path: str | os.PathLike[str], start_step: int = 0) -> None:
        """Open `path` to go on after `start_step`.

        Lines of later steps, written by a run that was broken off before it saved, are
        dropped, for those steps are about to come again.
        """
        self._path = pathlib.Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        kept = [line for line in self._lines() if _step_of(line) <= start_step]
        with write_atomically(self._path) as file:
            file.write("".join(kept).encode())
        self._file = open(self._path, "a", encoding="utf-8")

    def write(self, step: int, values: Mapping[str, float]) -> None:
        clean = {k: v if math.isfinite(v) else None for k, v in values.items()}
        self._file.write(json.dumps({"step": step, **clean}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _lines(self) -> list[str]:
        if not self._path.exists():
            return []
        with open(self._path, encoding="utf-8") as file:
            return [line for line in file if line.endswith("\n")]


def _step_of(line: str) -> float:
    """Return the step of a line; infinity, so that it goes, where there is none."""
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        return math.inf


class TensorBoardWriter(MetricWriter):
    """Scalars for TensorBoard, written without TensorFlow."""

    def __init__(self, directory: str | os.PathLike[str], start_step: int = 0) -> None:
        from tensorboardX import SummaryWriter

        # purge_step hides what a broken-off run wrote of the steps that come again.
        self._writer = SummaryWriter(
            os.fspath(directory), purge_step=start_step + 1 if start_step else None
        )

    def write(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class ProgressWriter(MetricWriter):
    """A progress bar on a terminal; elsewhere a line now and then."""

    def __init__(
        self,
        num_steps: int,
        start_step: int = 0,
        *,
        stream: TextIO | None = None,
        seconds_between_lines: float = 30.0,
    ) -> None:
        from tqdm import tqdm

        self._stream = sys.stderr if stream is None else stream
        self._num_steps = num_steps
        self._start_step = start_step
        self._seconds_between_lines = seconds_between_lines
        self._start = time.monotonic()
        self._last_line = -math.inf
        self._bar: Any = None
        if self._stream.isatty():
            self._bar = tqdm(
                total=num_steps,
                initial=start_step,
                unit="step",
                file=self._stream,
                dynamic_ncols=True,
            )

    def advance(self, step: int) -> None:
        if self._bar is not None:
            self._bar.update(step - self._bar.n)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        text = _summary(values)
        scores = {k: v for k, v in values.items() if not k.startswith("train/")}
        if self._bar is not None:
            if text:
                self._bar.set_postfix_str(text)
            if scores:
                self._bar.write(f"step {step}: {_scores(scores)}", file=self._stream)
            return
        now = time.monotonic()
        is_due = now - self._last_line >= self._seconds_between_lines
        if scores or is_due or step == self._num_steps:
            self._last_line = now
            left = _time_left(
                step, self._start_step, self._num_steps, now - self._start
            )
            parts = [f"step {step}/{self._num_steps}", text, _scores(scores), left]
            print("  ".join(filter(None, parts)), file=self._stream, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _summary(values: Mapping[str, float]) -> str:
    """Say in short how training goes; nothing if `values` are not of training."""
    if "train/loss" not in values:
        return ""
    return (
        f"loss {values['train/loss']:.3f}, "
        f"learning rate {values['train/learning_rate']:.2e}, "
        f"{values['train/target_tokens_per_second']:.0f} target tokens/s, "
        f"padding {100 * values['train/padding_share']:.0f} %"
    )


def _scores(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def _time_left(step: int, start_step: int, num_steps: int, elapsed: float) -> str:
    if step <= start_step:
        return ""
    seconds = round((num_steps - step) * elapsed / (step - start_step))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d} left"
