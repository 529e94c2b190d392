"""Trackers of a run: chosen in its config, and nothing that its result depends on."""

import sys

import jax
import numpy as np
import pytest

from tests.tiny_run import tiny_config
from transformer_jax.errors import UserError
from transformer_jax.runs import experiment
from transformer_jax.runs.trained_run import load_run
from transformer_jax.training.trackers import TRACKERS
from transformer_jax.training.writers import MetricWriter


class Recorder(MetricWriter):
    def __init__(self, run):
        self.run = run
        self.written = {}

    def write(self, step, values):
        self.written[step] = values


class Failing(MetricWriter):
    def __init__(self, run):
        pass

    def write(self, step, values):
        raise ConnectionError("no network")


def _train(text, workdir, **training):
    config = tiny_config(text)
    config.training.update(training)
    experiment.train(config, workdir)
    return jax.tree.leaves(load_run(workdir).params)


def test_trackers_hear_the_config_and_all_numbers_and_change_none(
    text, tmp_path, monkeypatch, caplog
):
    recorders = []

    def record(run):
        recorders.append(Recorder(run))
        return recorders[-1]

    monkeypatch.setitem(TRACKERS, "wandb", record)
    monkeypatch.setitem(TRACKERS, "mlflow", Failing)
    plain = _train(text, tmp_path / "plain")
    tracked = _train(text, tmp_path / "tracked", trackers="mlflow,wandb")
    for ours, theirs in zip(tracked, plain, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert "mlflow failed (ConnectionError: no network)" in caplog.text
    (recorder,) = recorders
    assert sorted(recorder.written) == [1, 2, 3, 4]
    assert "validation/chrf" in recorder.written[4]
    assert recorder.run.name == "tracked"
    assert recorder.run.params["model.d_model"] == 12
    assert (tmp_path / "plain/events").exists()
    assert not (tmp_path / "tracked/events").exists()


def test_a_run_may_go_on_with_other_trackers(text, tmp_path):
    _train(text, tmp_path / "run", num_steps=2, trackers="")
    assert not (tmp_path / "run/events").exists()
    _train(text, tmp_path / "run", trackers="tensorboard")
    assert (tmp_path / "run/events").exists()


def test_a_missing_package_is_said_before_anything_is_written(
    text, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UserError, match=r"transformer-jax\[wandb\]"):
        _train(text, tmp_path / "run", trackers="wandb")
    assert not (tmp_path / "run").exists()
