"""A writer in a thread of its own: training neither waits for it nor fails with it."""

import functools
import logging
import queue
import threading
from collections.abc import Callable, Mapping

from transformer_jax.training.writers import MetricWriter

_LOGGER = logging.getLogger(__name__)
# Of patience at the end of a run, for a network that is slow or gone.
_SECONDS_TO_CLOSE = 60.0


class BackgroundWriter(MetricWriter):
    """Hands everything to another writer, in order; its first fault is its end."""

    def __init__(
        self,
        name: str,
        writer: MetricWriter,
        *,
        seconds_to_close: float = _SECONDS_TO_CLOSE,
    ) -> None:
        """Take a writer that has not begun.

        Args:
          name: what to call it in messages.
          writer: used by the thread alone.
          seconds_to_close: how long `close` waits for what is still to be written.
        """
        self._name = name
        self._writer = writer
        self._seconds_to_close = seconds_to_close
        self._has_failed = False
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def begin(self, start_step: int, num_steps: int) -> None:
        self._calls.put(functools.partial(self._writer.begin, start_step, num_steps))
        self._thread.start()

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._calls.put(functools.partial(self._writer.write, step, dict(values)))

    def close(self) -> None:
        if self._thread.ident is None:  # Never begun.
            return
        self._calls.put(None)
        self._thread.join(self._seconds_to_close)
        if self._thread.is_alive():
            _LOGGER.warning(
                "%s has not taken everything in %.0f s, and is left behind; the run's "
                "metrics.jsonl has it all.",
                self._name,
                self._seconds_to_close,
            )

    def _work(self) -> None:
        for call in iter(self._calls.get, None):
            if not self._has_failed:
                self._try(call)
        self._try(self._writer.close)

    def _try(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            if not self._has_failed:
                _LOGGER.warning(
                    "%s failed (%s: %s) and hears no more until the next start. "
                    "Training goes on; the run's metrics.jsonl has every number.",
                    self._name,
                    type(error).__name__,
                    str(error).partition("\n")[0],
                )
            self._has_failed = True
