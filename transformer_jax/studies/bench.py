"""Where a study works: its parts are timed here, and its models trained."""

import contextlib
import logging
import pathlib
import time
from collections.abc import Iterator

import ml_collections

from transformer_jax.errors import UserError
from transformer_jax.reports.run_summary import read_run
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.experiment import train
from transformer_jax.runs.trained_run import TrainedRun, load_run
from transformer_jax.training.writers import JsonLinesWriter

_LOGGER = logging.getLogger(__name__)


class Bench:
    """Times the parts of a study, and trains its models.

    Attributes:
      workdirs: a folder for its runs; those that it holds already are gone on with.
      data: the folder of Multi30k (train, val, each as .en and .de), or None.
      seconds: what each part took, by its name.
    """

    def __init__(
        self, workdirs: pathlib.Path, data: pathlib.Path | None = None
    ) -> None:
        self.workdirs, self.data = workdirs, data
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time a part of the study, and say that it begins."""
        _LOGGER.info("%s", name)
        start = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - start

    def train(self, name: str, config: ml_collections.ConfigDict) -> TrainedRun:
        """Train in a run of that name, or go on where it stands; open it.

        Its seconds are those that it trained, as the run itself counts them, however
        often it was broken off.

        Raises:
          KeyboardInterrupt: if the process is to end.
          UserError: if the run that stands there has another config.
        """
        _LOGGER.info("training %s", name)
        directory = RunDirectory(self.workdirs / name)
        with _quietly():
            reason = train(
                config, directory.root, [JsonLinesWriter(directory.metrics_path)]
            )
            if reason == "terminated":
                raise KeyboardInterrupt("With --workdirs DIR a study can go on.")
            run = load_run(directory.root)
        self.seconds[name] = read_run(directory.root).seconds or 0.0
        return run

    def open(self, name: str, command: str) -> TrainedRun:
        """Open a run that was trained beforehand; its seconds are those it trained.

        Args:
          name: of its folder.
          command: that trains it, without the folder.

        Raises:
          UserError: if it is not there yet; says how it is trained.
        """
        root = self.workdirs / name
        if not root.exists():
            # No path here: without --workdirs its folder is removed again.
            raise UserError(
                f"This study compares runs that are trained beforehand, and there is "
                f"none called {name} in --workdirs. Train it with `python -m "
                f"transformer_jax {command} --workdir RUNS/{name}`, and give the study "
                "--workdirs RUNS."
            )
        self.seconds[name] = read_run(root).seconds or 0.0
        return load_run(root)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Let only warnings of the package through."""
    logger = logging.getLogger("transformer_jax")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
