"""One run of a tracker for all starts of a run, with each step once."""

import os
import pathlib
from collections.abc import Mapping
from typing import Protocol

from transformer_jax.files import read_checked_json, with_checksum, write_json
from transformer_jax.training.metrics_file import read_rows
from transformer_jax.training.writers import MetricWriter


class Tracker(Protocol):
    """A service that knows runs by ids, and takes the numbers of rising steps."""

    def open(self, run_id: str | None) -> str:
        """Go on with a run, or begin one; return its id.

        Args:
          run_id: None for a new one. Another id comes back if that run is gone.
        """

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Take the numbers of a step."""

    def finish(self) -> None:
        """Bring everything to where it belongs."""


class ContinuedWriter(MetricWriter):
    """Writes to the tracker's run that a record beside it names.

    Steps that a killed run takes again stay as the tracker first heard of them: it
    cannot forget, and would show both. What it missed, because it failed or was named
    later, it hears at the next start.
    """

    def __init__(
        self,
        tracker: Tracker,
        record: str | os.PathLike[str],
        metrics: str | os.PathLike[str],
    ) -> None:
        """Begin nothing yet.

        Args:
          tracker: where numbers go.
          record: the file with the id of the tracker's run, and its last step.
          metrics: all numbers of the run, as `JsonLinesWriter` writes them.
        """
        self._tracker = tracker
        self._record = pathlib.Path(record)
        self._metrics = pathlib.Path(metrics)
        self._is_open = False

    def begin(self, start_step: int, num_steps: int) -> None:
        found = read_checked_json(self._record) or {"run_id": None, "last_step": 0}
        self._record.parent.mkdir(parents=True, exist_ok=True)
        self._run_id = self._tracker.open(found["run_id"])
        self._is_open = True
        self._keep(found["last_step"] if self._run_id == found["run_id"] else 0)
        for row in read_rows(self._metrics):
            values = {k: v for k, v in row.items() if k != "step" and v is not None}
            if row["step"] <= start_step:
                self.write(row["step"], values)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        if step > self._last_step:
            self._tracker.log(step, values)
            self._keep(step)

    def close(self) -> None:
        if self._is_open:
            self._tracker.finish()

    def _keep(self, last_step: int) -> None:
        self._last_step = last_step
        record = {"run_id": self._run_id, "last_step": last_step}
        write_json(self._record, with_checksum(record))
