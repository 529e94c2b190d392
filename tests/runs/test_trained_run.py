"""Opening a run to use its weights, also while it is in training."""

import os
import pathlib
import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest

from tests.tiny_run import tiny_config, write_text
from transformer_jax.errors import UserError
from transformer_jax.runs import experiment
from transformer_jax.runs.trained_run import load_run
from transformer_jax.training.checkpoints import CheckpointStore

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A run on eight devices with the steps 1, 2, 3 and 4."""
    directory = tmp_path_factory.mktemp("trained")
    config = tiny_config(write_text(directory / "text"))
    config.sharding.data = 8
    config.evaluation.eval_every_steps = 0
    config.checkpoints.save_every_steps = 1
    experiment.train(config, directory / "run")
    return directory / "run"


@pytest.fixture
def run(kept: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(kept, tmp_path / "RUN"))


def _leaves(params) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(params)]


# As in README.md.
_THREE_LINES = """
import jax
from transformer_jax import load_run

params = jax.device_get(load_run("RUN").params)
"""


def test_weights_of_eight_devices_are_numpy_arrays_on_one_in_three_lines(run):
    assert _THREE_LINES in (ROOT / "README.md").read_text(encoding="utf-8")
    program = f"""{_THREE_LINES}
import numpy as np
assert jax.device_count() == 1
leaves = jax.tree.leaves(params)
assert all(type(leaf) is np.ndarray for leaf in leaves), leaves
np.savez("params.npz", *leaves)
"""
    subprocess.run(
        [sys.executable, "-c", program],
        cwd=run.parent,
        env=os.environ | {"XLA_FLAGS": "", "PYTHONPATH": str(ROOT)},
        check=True,
    )
    saved = np.load(run.parent / "params.npz")
    expected = _leaves(load_run(run).params)
    for array, leaf in zip(saved.values(), expected, strict=True):
        np.testing.assert_array_equal(array, leaf)


@pytest.mark.parametrize("checkpoint", [3, "3", np.int64(3)])
def test_a_checkpoint_is_chosen_by_number_or_text(run, checkpoint):
    assert load_run(run, checkpoint=checkpoint).steps == (3,)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"checkpoint": "newest"}, "checkpoint=newest is neither best, last nor"),
        ({"checkpoint": 3.0}, "checkpoint=3.0 is neither"),
        ({"checkpoint": True}, "checkpoint=True is neither"),
        ({"checkpoint": 7}, "1, 2, 3, 4, but not 7"),
        ({"checkpoint": 3, "average": 2}, "checkpoint and average exclude each other"),
        ({"average": "2"}, "average='2' is not a number"),
        ({"average": 2.0}, "average=2.0 is not a number"),
        ({"average_steps": (1, 2)}, r"average_steps=\(1, 2\): expected first, last"),
        ({"average_steps": (1, 2, 0)}, r"\(1, 2, 0\): expected first, last"),
        ({"average_steps": ("1", 2, None)}, r"\('1', 2, None\): expected first, last"),
        ({"average_steps": "1:2"}, "average_steps='1:2': expected first, last"),
    ],
)
def test_a_choice_that_is_none_is_refused_in_one_line(run, choice, message):
    with pytest.raises(UserError, match=message) as error:
        load_run(run, **choice)
    assert "\n" not in str(error.value)


def test_too_many_to_average_are_told_how_often_the_run_saves(run):
    with pytest.raises(UserError, match="save_every_steps=1 .*the last 5 ") as error:
        load_run(run, average=5)
    assert "keeps the last 4 (1, 2, 3, 4)" in str(error.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"beam_size": "4"},
        {"beam_size": 2.5},
        {"num_best": "1"},
        {"alpha": None},
        {"length_penalty": "google"},
        {"min_length": -1},
        {"tokens_per_batch": 0},
    ],
)
def test_settings_of_another_type_or_range_are_refused_by_name(run, changes):
    (name,) = changes
    with pytest.raises(UserError, match=f"{name}=.*: expected"):
        load_run(run).translator(**changes)


@pytest.fixture
def removing(monkeypatch: pytest.MonkeyPatch):
    """Let training remove what is read, before, while or after it is read."""

    def install(run: pathlib.Path, when: str, times: int = 1) -> list[int]:
        removed: list[int] = []
        restore_params = CheckpointStore.restore_params

        def remove(step: int) -> None:
            if len(removed) < times:
                removed.append(step)
                shutil.rmtree(run / "parameters" / str(step))

        def restoring(store, which, abstract):
            if when == "before":
                remove(which)
            params = restore_params(store, which, abstract)
            if when == "after":
                remove(which)
            return params

        monkeypatch.setattr(CheckpointStore, "restore_params", restoring)
        return removed

    return install


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("choice", "steps"),
    [({"checkpoint": "last"}, (3,)), ({"average": 2}, (2, 4))],
)
def test_what_training_removes_while_it_is_read_is_read_anew(
    run, removing, when, choice, steps, caplog
):
    removed = removing(run, when)
    found = load_run(run, **choice)
    assert not set(removed) & set(found.steps)
    assert found.steps == steps
    (line,) = (r.message for r in caplog.records if "removed" in r.message)
    assert (
        line == f"Training removed step {removed[0]} while it was read; reading again."
    )


def test_a_step_that_was_named_and_is_removed_is_told_with_the_others(run, removing):
    removing(run, "before")
    with pytest.raises(UserError, match="holds the steps 1, 2, 4, but not 3"):
        load_run(run, checkpoint=3)


def test_damage_is_no_removal(run):
    (run / "parameters/4/step.json").write_text("{}")
    with pytest.raises(UserError, match="step.json has changed"):
        load_run(run, checkpoint=4)
