"""How far training is, for the person who waits for it."""

import contextlib
import math
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from transformer_jax.training.metrics import WAITED
from transformer_jax.training.writers import MetricWriter

_PER_SECOND, _VALIDATION = "_per_second", "validation/"
# Beyond so many days a run was hardly meant for the devices it is on.
_LONGEST_DAYS = {"cpu": 2, "gpu": 30, "tpu": 30}
# How long to look at the speed before saying so.
_SECONDS_TO_JUDGE, _STEPS_TO_JUDGE = 60.0, 2


class ProgressWriter(MetricWriter):
    """A progress bar on a terminal; elsewhere a line now and then.

    Scores have lines of their own. A line has at most 100 columns.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        seconds_between_lines: float = 30.0,
        device: str = "",
    ) -> None:
        """Make a writer.

        Args:
          stream: where to write; None: to standard error.
          seconds_between_lines: where there is no terminal.
          device: "cpu", "gpu" or "tpu"; one that needs days for the run is told of.
        """
        self._stream = sys.stderr if stream is None else stream
        self._seconds_between_lines = seconds_between_lines
        self._device = device
        self._bar: tqdm[Any] | None = None
        self._open = contextlib.ExitStack()

    def begin(self, start_step: int, num_steps: int) -> None:
        """Show the bar, or start the clock for the first line."""
        self._num_steps = num_steps
        self._start_step = start_step
        self._start = time.monotonic()
        self._waited = 0.0
        self._num_programs = 0  # That XLA has left to compile.
        self._left = self._text = ""
        self._last_line = -math.inf
        self._first: tuple[int, float] | None = None  # A step, and when it was done.
        self._is_judged = self._device not in _LONGEST_DAYS
        if self._stream.isatty():
            self._open.enter_context(logging_redirect_tqdm())
            self._bar = tqdm(
                total=num_steps,
                initial=start_step,
                unit="step",
                file=self._stream,
                dynamic_ncols=True,
                bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]",
                postfix="XLA compiles the step",
            )

    def wait_for_compiler(self, num_programs: int) -> None:
        if num_programs != self._num_programs:
            self._num_programs = num_programs
            self._show()

    def advance(self, step: int) -> None:
        if self._bar is not None:
            if self._bar.n == self._start_step:
                self._show()
            self._bar.update(step - self._bar.n)
        if not self._is_judged:
            self._judge(step, time.monotonic())

    def write(self, step: int, values: Mapping[str, float]) -> None:
        text, now = _summary(values, self._bar is not None), time.monotonic()
        self._waited += values.get(f"train/{WAITED}", 0.0)
        left = _time_left(
            step,
            self._start_step,
            self._num_steps,
            now - self._start - self._waited,
        )
        scores = {k: v for k, v in values.items() if not k.startswith("train/")}
        is_due = now - self._last_line >= self._seconds_between_lines
        if self._bar is not None:
            if text:
                self._left, self._text = left, text
                self._show()
        elif scores or is_due or step == self._num_steps:
            self._last_line = now
            parts = [f"step {step}/{self._num_steps}", text, left]
            self._say("  ".join(filter(None, parts)))
        if scores:
            self._say(_scores(step, scores))

    def close(self) -> None:
        self._open.close()
        if self._bar is not None:
            self._bar.close()

    def _judge(self, step: int, now: float) -> None:
        """Say, as soon as the speed can be told, if training will take absurdly long.

        A step that may have waited for XLA is no measure.
        """
        if self._num_programs:
            return
        if self._first is None:
            self._first = step, now
            return
        num_steps, seconds = step - self._first[0], now - self._first[1]
        if num_steps < _STEPS_TO_JUDGE or seconds < _SECONDS_TO_JUDGE:
            return
        self._is_judged = True
        days = (self._num_steps - step) * seconds / num_steps / 86_400
        if days > _LONGEST_DAYS[self._device]:
            self._say(
                f"At this speed, training takes {days:.0f} days more on this "
                f"{self._device.upper()}. Take a smaller model, fewer steps "
                "(config.training.num_steps) or a faster device; "
                "configs/own_text_tiny.py suits a laptop."
            )

    def _show(self) -> None:
        """Bring the text behind the bar up to date; a narrow terminal cuts it off.

        While XLA compiles, the speed says nothing about the time that is left.
        """
        if self._bar is not None:
            left = self._left
            if self._num_programs:
                left = f"XLA compiles the step, shapes left: {self._num_programs}"
            self._bar.set_postfix_str(", ".join(filter(None, [left, self._text])))

    def _say(self, line: str) -> None:
        """Write a line, above the bar if there is one."""
        if self._bar is not None:
            self._bar.write(line, file=self._stream)
        else:
            print(line, file=self._stream, flush=True)


def _summary(values: Mapping[str, float], is_short: bool) -> str:
    """Say how training goes; nothing if `values` are not of training.

    Args:
      values: by name.
      is_short: leave out what changes slowly, so that there is room for a bar.
    """
    if "train/loss" not in values:
        return ""
    parts = [f"loss {values['train/loss']:.3f}"]
    if not is_short:
        parts.append(f"lr {values['train/learning_rate']:.2e}")
    # The last by name: of source and target the target, which is what is learnt.
    speeds = sorted(name for name in values if name.endswith(_PER_SECOND))
    for name in speeds[-1:]:
        tokens = name.removeprefix("train/").removesuffix(_PER_SECOND)
        parts.append(f"{values[name]:.0f} {tokens.replace('_', ' ')}/s")
    if "train/padding_share" in values and not is_short:
        parts.append(f"padding {100 * values['train/padding_share']:.0f} %")
    return ", ".join(parts)


def _scores(step: int, values: Mapping[str, float]) -> str:
    """Say how an evaluation went."""
    scores = [f"{k.removeprefix(_VALIDATION)} {v:.4g}" for k, v in values.items()]
    return f"step {step}, validation: {', '.join(scores)}"


def _time_left(step: int, start_step: int, num_steps: int, elapsed: float) -> str:
    if step <= start_step:
        return ""
    seconds = round((num_steps - step) * elapsed / (step - start_step))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d} left"
