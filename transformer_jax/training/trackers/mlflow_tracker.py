"""MLflow: a database in the run, unless MLFLOW_TRACKING_URI names another place."""

import importlib
import logging
import os
import time
from collections.abc import Mapping
from typing import Any

from transformer_jax.training.trackers.tracked_run import TrackedRun

_LOGGER = logging.getLogger(__name__)
_EXPERIMENT = "transformer_jax"
# MLflow refuses more at once.
_MOST_PARAMS = 100


class MlflowTracker:
    """A run in MLflow."""

    def __init__(self, run: TrackedRun) -> None:
        """Load the packages.

        Raises:
          ImportError: if one is missing.
        """
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
        # What its database needs.
        for name in ("sqlalchemy", "alembic"):
            importlib.import_module(name)
        from mlflow import MlflowClient, entities
        from mlflow.exceptions import MlflowException

        self._make_client, self._entities = MlflowClient, entities
        self._exception = MlflowException
        self._run = run

    def open(self, run_id: str | None) -> str:
        uri = os.environ.get("MLFLOW_TRACKING_URI") or self._local_database()
        self._client = self._make_client(uri)
        found = self._find(run_id)
        if found is None:
            found = self._client.create_run(self._experiment(), run_name=self._run.name)
        self._run_id = str(found.info.run_id)
        self._log_params(found.data.params, found.data.tags)
        self._client.update_run(self._run_id, status="RUNNING")
        _LOGGER.info("mlflow: run %s in %s", self._run_id, uri)
        return self._run_id

    def log(self, step: int, values: Mapping[str, float]) -> None:
        now = round(1000 * time.time())
        metrics = [
            self._entities.Metric(name, value, now, step)
            for name, value in values.items()
        ]
        self._client.log_batch(self._run_id, metrics=metrics)

    def finish(self) -> None:
        self._client.set_terminated(self._run_id)

    def _local_database(self) -> str:
        """Return the address of a database in the run, made if it is not there."""
        path = self._run.folder.absolute() / "mlflow.db"
        if not path.exists():
            # Made elsewhere first: MLflow refuses one that a kill has left half made.
            begun = path.with_name("mlflow.db.begun")
            begun.unlink(missing_ok=True)
            self._make_client(f"sqlite:///{begun}")
            begun.replace(path)
        return f"sqlite:///{path}"

    def _find(self, run_id: str | None) -> Any:
        """Return a run that is to go on; None if there is none of this id."""
        if run_id is None:
            return None
        try:
            found = self._client.get_run(run_id)
        except self._exception as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return None
        return found if found.info.lifecycle_stage == "active" else None

    def _experiment(self) -> str:
        """Return the id of the experiment that runs belong to; make it if needed."""
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", _EXPERIMENT)
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        return str(self._client.create_experiment(name))

    def _log_params(self, before: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Log the config; MLflow keeps params for good, so changes become tags."""
        params = {name: str(value) for name, value in self._run.params.items()}
        new = [
            self._entities.Param(name, value)
            for name, value in params.items()
            if name not in before
        ]
        for start in range(0, len(new), _MOST_PARAMS):
            part = new[start : start + _MOST_PARAMS]
            self._client.log_batch(self._run_id, params=part)
        for name, value in params.items():
            tag = f"resumed.{name}"
            if tags.get(tag, before.get(name, value)) != value:
                self._client.set_tag(self._run_id, tag, value)
