"""A step compiled for all shapes of batches at once, while the first ones run."""

import concurrent.futures
import contextlib
import logging
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax

_LOGGER = logging.getLogger(__name__)
# A shorter wait is not worth a line.
_SECONDS_TO_SAY = 2.0

_Shapes = tuple[tuple[int, ...], ...]


class CompiledStep:
    """A jitted step of (state, batch, rng) with a program for each shape of batch.

    Shapes that were not named are compiled when they come, as by `jax.jit` alone; the
    programs are the same.

    Attributes:
      waited_seconds: how long steps have waited for their programs.
    """

    def __init__(
        self,
        step: Any,
        state: Any,
        batches: Sequence[Any],
        rng: Any,
        executor: concurrent.futures.Executor,
    ) -> None:
        """Begin to compile.

        Args:
          step: from `jax.jit`.
          state: its shapes, types and shardings; no arrays, which a step may donate.
          batches: likewise, one of each shape; compiled in this order.
          rng: likewise.
          executor: whose threads compile.
        """
        self.waited_seconds = 0.0
        self._step = step
        self._started = time.monotonic()
        self._programs: dict[_Shapes, concurrent.futures.Future[Any]] = {}
        for batch in batches:
            self._programs[_shapes(batch)] = executor.submit(
                lambda batch: step.lower(state, batch, rng).compile(), batch
            )
        self._is_ready = False

    def __call__(self, state: Any, batch: Any, rng: Any) -> Any:
        """Take the step, once its program is there."""
        shapes = _shapes(batch)
        if shapes not in self._programs:
            return self._step(state, batch, rng)
        asked = time.monotonic()
        program = self._programs[shapes].result()
        self.waited_seconds += time.monotonic() - asked
        if not self._is_ready and not self.num_compiling():
            self._is_ready = True
            self._report()
        return program(state, batch, rng)

    def num_compiling(self) -> int:
        """Return for how many shapes the program is not there yet."""
        return sum(not program.done() for program in self._programs.values())

    def _report(self) -> None:
        """Say how long compiling took, now that the last program is there."""
        seconds = time.monotonic() - self._started
        if seconds >= _SECONDS_TO_SAY:
            _LOGGER.info(
                "The step is compiled for all %d shapes of batches, %.0f s after the "
                "start; steps waited %.0f s for it",
                len(self._programs),
                seconds,
                self.waited_seconds,
            )


@contextlib.contextmanager
def compiling_ahead(
    step: Any, state: Any, batches: Sequence[Any], rng: Any
) -> Iterator[CompiledStep]:
    """Compile `step` for these batches beside the body; see `CompiledStep`.

    XLA compiles outside Python's lock, so there is a thread for each processor but one,
    which is left to the steps. Leaving the body drops what has not begun.
    """
    num_threads = max(1, (os.cpu_count() or 1) - 1)
    executor = concurrent.futures.ThreadPoolExecutor(num_threads, "compile")
    _LOGGER.info(
        "Compiling the step for %d shapes of batches; it starts with the first",
        len(batches),
    )
    try:
        yield CompiledStep(step, state, batches, rng, executor)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _shapes(batch: Any) -> _Shapes:
    return tuple(leaf.shape for leaf in jax.tree.leaves(batch))
