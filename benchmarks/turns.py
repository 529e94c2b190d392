"""Contestants take turns, each in a process of its own.

A noisy machine is then noisy for all, no one's threads or memory are in another's way,
and a peer that is not installed or fails costs its own row alone.

A contestant names a function, "module:function", that gets the arguments, prepares and
returns a `Prepared`. This module, run by Python, is its process: it says on its
standard output that it is ready, and takes a turn for each line that it reads.
"""

import dataclasses
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from transformer_jax.errors import UserError

NOT_INSTALLED = "not installed: pip install '.[benchmarks]'"
# Shared settings that would favour one side, or spare it compiling.
_REMOVED = ("GLIBC_TUNABLES", "JAX_COMPILATION_CACHE_DIR")


@dataclasses.dataclass(frozen=True)
class Contestant:
    """One side of a comparison.

    Attributes:
      name: of its row.
      prepare: "module:function".
      arguments: what the function gets, by name; JSON.
      environment: variables that its process has beside the usual.
      is_program: starts itself anew with huge pages, as the package's commands do.
    """

    name: str
    prepare: str
    arguments: Mapping[str, Any]
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    is_program: bool = False


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A contestant that is ready.

    Attributes:
      turn: does a turn's work and returns seconds for one unit of it.
      facts: what else is to be known, asked for after the last turn.
    """

    turn: Callable[[], float]
    facts: Callable[[], Mapping[str, Any]] = dict


@dataclasses.dataclass
class Result:
    """What became of a contestant.

    Attributes:
      name: its own.
      seconds: for each turn.
      facts: as it gave them.
      problem: why it took no turns, or no more; None if it took them all.
    """

    name: str
    seconds: list[float] = dataclasses.field(default_factory=list)
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    problem: str | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def device(self) -> dict[str, Any]:
        """Kind and memory of the device that it used, as far as it said."""
        names = ("device_kind", "device_memory_gib")
        return {name: self.facts[name] for name in names if self.facts.get(name)}

    def require(self) -> None:
        """Raise a `UserError` if there was a problem: without it nothing compares."""
        if self.problem is not None:
            raise UserError(f"{self.name}: {self.problem}")

    def times_as_long(self, other: "Result") -> dict[str, float]:
        """Return how many times as long as `other` a unit takes, turn by turn.

        Returns:
          median, low and high of the ratios of turns that followed each other.
        """
        ratios = [a / b for a, b in zip(self.seconds, other.seconds, strict=False)]
        return {
            "median": statistics.median(ratios),
            "low": min(ratios),
            "high": max(ratios),
        }


def take_turns(
    contestants: Sequence[Contestant],
    num_turns: int,
    *,
    prepare_seconds: float = 900.0,
    turn_seconds: float = 300.0,
) -> list[Result]:
    """Prepare one after the other, then let them take turns: a, b, c, a, b, c, ...

    Args:
      contestants: in the order of their turns.
      num_turns: of each.
      prepare_seconds: a contestant that takes longer to prepare is ended.
      turn_seconds: likewise for a turn.
    """
    players = []
    try:
        for contestant in contestants:
            print(f"preparing {contestant.name}", file=sys.stderr, flush=True)
            player = _Player(contestant)
            players.append(player)
            player.hear(prepare_seconds)
        for _ in range(num_turns):
            for player in players:
                answer = player.ask("turn", turn_seconds)
                if answer is not None:
                    player.result.seconds.append(answer["seconds"])
        for player in players:
            player.result.facts = player.ask("facts", turn_seconds) or {}
    finally:
        for player in players:
            player.close()
    return [player.result for player in players]


def timing_row(result: Result, ours: Result) -> dict[str, Any]:
    """Return what every benchmark says of a contestant that took turns.

    Args:
      result: its.
      ours: the package's, to compare with.
    """
    row: dict[str, Any] = {"contestant": result.name, "problem": result.problem}
    if not result.seconds:
        return row
    row |= {
        "ms": 1e3 * result.median,
        "low": 1e3 * min(result.seconds),
        "high": 1e3 * max(result.seconds),
    }
    if result is not ours and ours.seconds:
        ratio = result.times_as_long(ours)
        row |= {
            "times_ours": ratio["median"],
            "times_low": ratio["low"],
            "times_high": ratio["high"],
        }
    return row


def without_empty_columns(
    rows: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Leave out what is None in all rows."""
    used = {name for row in rows for name, value in row.items() if value is not None}
    return [{k: v for k, v in row.items() if k in used} for row in rows]


class _Player:
    """A contestant's process, seen from outside."""

    def __init__(self, contestant: Contestant) -> None:
        self.result = Result(contestant.name)
        self._errors = tempfile.TemporaryFile()
        environment = {k: v for k, v in os.environ.items() if k not in _REMOVED}
        # Several processes share a GPU's memory, so none takes it all at once.
        environment.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.turns",
                contestant.prepare,
                json.dumps(contestant.arguments),
                "program" if contestant.is_program else "plain",
            ],
            env=environment | contestant.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def ask(self, request: str, seconds: float) -> dict[str, Any] | None:
        """Send a request and return the answer, or None if there is a problem."""
        if self.result.problem is not None:
            return None
        assert self._process.stdin is not None
        try:
            print(request, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            pass  # It ended; reading says how.
        return self.hear(seconds)

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """Return the next answer, or None after noting the problem."""
        assert self._process.stdout is not None
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        is_late = not timer.is_alive()
        timer.cancel()
        answer = json.loads(line) if line else {"problem": self._last_words()}
        if is_late and not line:
            answer = {"problem": f"ended after {seconds:.0f} s without an answer"}
        self.result.problem = answer.get("problem")
        return None if self.result.problem else answer

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._process.stdin.close()
        self._errors.close()

    def _last_words(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        return f"ended with code {code}: {lines[-1] if lines else 'no message'}"


def _play(prepare: str, arguments: str) -> None:
    """Be a contestant's process."""
    # Libraries print; what they print is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(content: Mapping[str, Any]) -> None:
        print(json.dumps(content), file=answers, flush=True)

    module, _, function = prepare.partition(":")
    try:
        prepared = getattr(importlib.import_module(module), function)(
            **json.loads(arguments)
        )
        answer({"ready": True})
        for request in sys.stdin:
            if request.strip() == "turn":
                answer({"seconds": prepared.turn()})
            else:
                answer(dict(prepared.facts()))
    except ModuleNotFoundError as error:
        answer({"problem": f"{NOT_INSTALLED} ({error.name})"})
    except Exception as error:
        traceback.print_exc()
        message = str(error).splitlines() or [""]
        answer({"problem": f"{type(error).__name__}: {message[0][:200]}"})


if __name__ == "__main__":
    if sys.argv[3] == "program":
        from transformer_jax.commands.start import restart

        restart()
    _play(sys.argv[1], sys.argv[2])
