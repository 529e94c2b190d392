"""Paths as people give them: with "~", a level too deep, or too high."""

import os
import pathlib

import pytest

from tests.tiny_run import tiny_config, write_text
from transformer_jax.errors import UserError
from transformer_jax.runs import experiment
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.run_evaluation import evaluate_run
from transformer_jax.runs.trained_run import load_run
from transformer_jax.visualization.curves import read_metrics


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with text/, and runs/first trained on it."""
    directory = tmp_path_factory.mktemp("home")
    text = write_text(directory / "text")
    experiment.train(tiny_config(text, num_steps=1), directory / "runs/first")
    return directory


def test_every_path_may_begin_at_home(home, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    config = tiny_config(pathlib.Path("~/text"), num_steps=1)
    config.data.train_source = "~/text/train.en"
    config.data.cache_directory = "~/cache"
    config.data.tokenizer_path = "~/runs/first/tokenizer.model"
    experiment.train(config, "~/runs/second")
    config.data.tokenizer_path = None
    config.training.init_from = "~/runs/second"
    experiment.train(config, "~/runs/third")
    run = load_run("~/runs/third")
    evaluate_run(run, {}, files=("~/text/test.en", "~/text/test.de"))
    assert (home / "cache").is_dir()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "part",
    ["checkpoints", "parameters/1", "parameters/1/default", "text", "config.json"],
)
def test_a_part_of_a_run_names_the_run(home, part):
    run = home / "runs/first"
    with pytest.raises(UserError, match=f"part of the run {run};"):
        load_run(run / part)
    with pytest.raises(UserError, match=f"part of the run {run};"):
        read_metrics(run / part)
    config = tiny_config(home / "text")
    with pytest.raises(UserError, match=f"part of the run {run}"):
        experiment.train(config, run / part)


def test_a_folder_of_runs_names_them(home):
    with pytest.raises(UserError, match=r"holds runs \(first.*\); give one"):
        load_run(home / "runs")


def test_a_run_may_lie_in_a_folder_of_its_own_inside_another(home):
    RunDirectory(home / "runs/first/fine-tuned").check_place()
