"""Trackers: what they are told, what they may not do to training, and how they go on.

Those that need a tracker's package skip where it is missing:
pip install -e '.[wandb,mlflow]'.
"""

import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest

from transformer_jax.errors import UserError
from transformer_jax.training.trackers import TRACKERS, make_trackers
from transformer_jax.training.trackers.background_writer import BackgroundWriter
from transformer_jax.training.trackers.continued_writer import ContinuedWriter
from transformer_jax.training.trackers.tracked_run import TrackedRun
from transformer_jax.training.writers import JsonLinesWriter, MetricWriter

PARAMS = {"seed": 3, "model.d_k": None, "model.activation": "relu", "data.source": ""}


@pytest.fixture
def run(tmp_path, monkeypatch) -> TrackedRun:
    for name in list(os.environ):
        if name.startswith(("WANDB_", "MLFLOW_")):
            monkeypatch.delenv(name)
    return _tracked(tmp_path / "my run")


def _tracked(root: pathlib.Path, **changes) -> TrackedRun:
    return TrackedRun(
        name=root.name,
        metrics=root / "metrics.jsonl",
        events=root / "events",
        folder=root / "trackers",
        params=PARAMS | changes,
    )


class Recorder(MetricWriter):
    def __init__(self):
        self.steps = []
        self.is_closed = False

    def begin(self, start_step, num_steps):
        self.steps.append(start_step)

    def write(self, step, values):
        self.steps.append(step)

    def close(self):
        self.is_closed = True


class FakeTracker:
    """A service that forgets nothing; `runs` holds the steps of each of its runs."""

    def __init__(self, runs):
        self.runs = runs

    def open(self, run_id):
        if run_id not in self.runs:
            run_id = f"run {len(self.runs)}"
            self.runs[run_id] = []
        self.run_id = run_id
        return run_id

    def log(self, step, values):
        self.runs[self.run_id].append((step, values))

    def finish(self):
        pass


def _train(writers, steps, start_step=0):
    """Do with writers what the loop does with them."""
    for writer in writers:
        writer.begin(start_step, 100)
    for step in steps:
        for writer in writers:
            writer.write(
                step, {"train/loss": step / 4, "validation/chrf": float("nan")}
            )
    for writer in writers:
        writer.close()


def _train_with(name, run, steps, start_step=0):
    json_lines = JsonLinesWriter(run.metrics)
    _train([json_lines, *make_trackers([name], run)], steps, start_step)


def test_a_writer_in_the_background_hears_everything_in_order():
    recorder = Recorder()
    _train([BackgroundWriter("name", recorder)], [2, 4, 6])
    assert recorder.steps == [0, 2, 4, 6]
    assert recorder.is_closed


@pytest.mark.parametrize("failing", ["begin", "write", "close"])
def test_a_writer_that_fails_is_named_once_and_ends_nothing(failing, caplog):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    writer = Recorder()
    setattr(writer, failing, fail)
    _train([BackgroundWriter("mlflow", writer)], [2, 4])
    (record,) = caplog.records
    assert "mlflow failed (OSError: [Errno 28] No space left" in record.getMessage()


def test_a_writer_that_hangs_is_left_behind(caplog):
    released = threading.Event()
    writer = Recorder()
    writer.write = lambda step, values: released.wait()
    _train([BackgroundWriter("wandb", writer, seconds_to_close=0.01)], [2])
    released.set()
    assert "wandb has not taken everything" in caplog.text


def test_a_writer_that_has_not_begun_can_be_closed():
    BackgroundWriter("name", Recorder()).close()


def test_a_tracker_goes_on_with_its_run_and_has_each_step_once(tmp_path):
    runs = {}
    record, metrics = tmp_path / "a/record.json", tmp_path / "metrics.jsonl"
    for start_step, steps in ((0, [1, 2, 3]), (2, [3, 4])):
        _train([ContinuedWriter(FakeTracker(runs), record, metrics)], steps, start_step)
    assert [[step for step, _ in rows] for rows in runs.values()] == [[1, 2, 3, 4]]


@pytest.mark.parametrize("missed", ["never there", "run deleted", "record damaged"])
def test_a_tracker_catches_up_with_what_it_missed(tmp_path, missed):
    runs = {}
    record, metrics = tmp_path / "record.json", tmp_path / "metrics.jsonl"

    def writers(*, tracked):
        ours = ContinuedWriter(FakeTracker(runs), record, metrics)
        return [JsonLinesWriter(metrics), *[ours] * tracked]

    _train(writers(tracked=missed != "never there"), [1, 2, 3])
    if missed == "run deleted":
        runs["run 0"] = None
        runs["another"] = runs.pop("run 0")
    elif missed == "record damaged":
        record.write_text('{"run_id": "run 0", "last_step": 9, "checksum": "0"}')
    _train(writers(tracked=True), [3, 4], start_step=2)
    newest = list(runs.values())[-1]
    assert newest[0] == (1, {"train/loss": 0.25})  # What is no number is left out.
    assert [step for step, _ in newest] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_missing_package_is_an_error_that_names_the_extra(name, run, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=rf"transformer-jax\[{name}\]"):
        make_trackers([name], run)


def test_a_folder_of_wandbs_files_is_not_its_package(run, tmp_path, monkeypatch):
    """Python takes any folder for a package, and W&B leaves one of its name."""
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.delitem(sys.modules, "wandb")  # Comes back, or goes, at the end.
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    (tmp_path / "wandb").mkdir()
    with pytest.raises(UserError, match="pip install"):
        make_trackers(["wandb"], run)


def test_no_tracker_is_a_choice_too(run):
    assert make_trackers([], run) == []
    assert list(TRACKERS) == ["tensorboard", "wandb", "mlflow"]


def _read_wandb(run: TrackedRun) -> list[list[dict]]:
    """Return what each start has left of a run, as W&B's own command reads it."""
    program = pathlib.Path(sys.executable).with_name("wandb")
    found = []
    for folder in sorted(run.folder.glob("wandb/offline-run-*")):
        command = [str(program), "leet", "inspect", "--json", str(folder)]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append([json.loads(line) for line in result.stdout.splitlines()])
    return found


@pytest.mark.slow
def test_wandb_takes_a_run_offline_and_goes_on_with_it(run):
    pytest.importorskip("wandb", reason="needs the extra wandb")
    _train_with("wandb", run, [1, 2, 3])
    changed = _tracked(run.folder.parent, seed=4)
    _train_with("wandb", changed, [3, 4], start_step=2)
    first, second = _read_wandb(run)
    ids, configs, steps, losses = [], [], [], []
    for record in first + second:
        if record["type"] == "run":
            ids.append(record["run"]["run_id"])
            configs.append(record["run"]["config"]["update"])
        elif record["type"] == "history":
            steps.append(record["history"]["item"]["_step"])
            losses.append(record["history"]["item"]["train/loss"])
    assert steps == [1, 2, 3, 4]
    assert losses == [0.25, 0.5, 0.75, 1.0]
    assert len(set(ids)) == 1
    assert (configs[0]["seed"], configs[-1]["seed"]) == (3, 4)
    assert configs[0]["model"] == {"d_k": None, "activation": "relu"}


@pytest.mark.slow
def test_mlflow_takes_a_run_into_its_folder_and_goes_on_with_it(run):
    mlflow = pytest.importorskip("mlflow", reason="needs the extra mlflow")
    pytest.importorskip("sqlalchemy", reason="needs the extra mlflow")
    # What a kill in the midst of making the database has left.
    run.folder.mkdir(parents=True)
    (run.folder / "mlflow.db.begun").write_bytes(b"half")
    _train_with("mlflow", run, [1, 2, 3])
    changed = _tracked(run.folder.parent, seed=4)
    _train_with("mlflow", changed, [3, 4], start_step=2)
    client = mlflow.MlflowClient(f"sqlite:///{run.folder / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("transformer_jax")
    (found,) = client.search_runs([experiment.experiment_id])
    history = client.get_metric_history(found.info.run_id, "train/loss")
    assert [(metric.step, metric.value) for metric in history] == [
        (step, step / 4) for step in (1, 2, 3, 4)
    ]
    assert found.info.run_name == "my run"
    assert found.info.status == "FINISHED"
    assert found.data.params == {name: str(value) for name, value in PARAMS.items()}
    assert found.data.tags["resumed.seed"] == "4"
