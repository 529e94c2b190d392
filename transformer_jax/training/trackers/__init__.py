"""Experiment trackers: where else the numbers of a run go, as its config says."""

from collections.abc import Callable, Iterable

from transformer_jax.errors import UserError
from transformer_jax.training.trackers.background_writer import BackgroundWriter
from transformer_jax.training.trackers.continued_writer import ContinuedWriter, Tracker
from transformer_jax.training.trackers.mlflow_tracker import MlflowTracker
from transformer_jax.training.trackers.tracked_run import TrackedRun
from transformer_jax.training.trackers.wandb_tracker import WandbTracker
from transformer_jax.training.writers import MetricWriter, TensorBoardWriter


def _continued(name: str, tracker: Tracker, run: TrackedRun) -> MetricWriter:
    return ContinuedWriter(tracker, run.folder / f"{name}.json", run.metrics)


# By the names that a config has for them; those that are an extra have its name.
TRACKERS: dict[str, Callable[[TrackedRun], MetricWriter]] = {
    "tensorboard": lambda run: TensorBoardWriter(run.events),
    "wandb": lambda run: _continued("wandb", WandbTracker(run), run),
    "mlflow": lambda run: _continued("mlflow", MlflowTracker(run), run),
}


def make_trackers(names: Iterable[str], run: TrackedRun) -> list[MetricWriter]:
    """Return a writer for each name; none of them can end or hold up the training.

    Raises:
      UserError: if the package of one is missing.
    """
    writers: list[MetricWriter] = []
    for name in names:
        try:
            writer = TRACKERS[name](run)
        except ImportError as error:
            raise UserError(
                f"config.training.trackers names {name}, which cannot be imported "
                f"({error}). Install it with: pip install 'transformer-jax[{name}]', "
                f"or leave {name} out."
            ) from error
        writers.append(BackgroundWriter(name, writer))
    return writers
