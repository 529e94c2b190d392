"""Weights & Biases: on the disk of the run, unless WANDB_MODE says online."""

import logging
import os
import pathlib
import uuid
from collections.abc import Mapping
from typing import Any

from transformer_jax.training.trackers.tracked_run import TrackedRun

_LOGGER = logging.getLogger(__name__)
_PROJECT = "transformer_jax"
# W&B's own is 90: so long would a run without a network take to end.
_SECONDS_TO_BEGIN = 30


class WandbTracker:
    """A run in W&B; each start of ours is one folder of its id, uploaded in order."""

    def __init__(self, run: TrackedRun) -> None:
        """Load the package.

        Raises:
          ImportError: if it is missing.
        """
        # It would send its own faults home, offline too.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        # By name: in a folder with W&B's files, `wandb` alone would be that folder.
        from wandb import Settings, init

        self._init: Any = init
        self._settings = Settings(
            console="off", silent=True, init_timeout=_SECONDS_TO_BEGIN
        )
        self._run = run

    def open(self, run_id: str | None) -> str:
        self._wandb_run: Any = self._init(
            id=run_id or uuid.uuid4().hex[:8],
            resume="allow",
            mode=os.environ.get("WANDB_MODE", "offline"),
            project=os.environ.get("WANDB_PROJECT", _PROJECT),
            name=os.environ.get("WANDB_NAME", self._run.name),
            dir=self._run.folder,
            config=_nested(self._run.params),
            allow_val_change=True,  # A run may go on with other cadences and paths.
            settings=self._settings,
        )
        if self._wandb_run.offline:
            folder = pathlib.Path(self._wandb_run.dir).parent.parent
            _LOGGER.info("wandb: offline; `wandb sync %s/*-run-*` uploads it", folder)
        else:
            _LOGGER.info("wandb: %s", self._wandb_run.url)
        return str(self._wandb_run.id)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._wandb_run.log(values, step=step)

    def finish(self) -> None:
        self._wandb_run.finish()


def _nested(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted paths as dicts in dicts, as W&B takes them."""
    tree: dict[str, Any] = {}
    for path, value in params.items():
        *parents, name = path.split(".")
        section = tree
        for parent in parents:
            section = section.setdefault(parent, {})
        section[name] = value
    return tree
