"""A run killed at any moment ends where the unbroken one ends."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from tests.tiny_run import write_text
from transformer_jax.runs.trained_run import load_run

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUM_STEPS = 30

_PROGRAM = """
import pathlib, sys
from tests.tiny_run import tiny_config
from transformer_jax.runs import experiment
from transformer_jax.commands.messages import command
with command("train"):
    config = tiny_config(pathlib.Path(sys.argv[1]), num_steps=int(sys.argv[3]))
    config.evaluation.eval_every_steps = 10
    experiment.train(config, sys.argv[2])
"""


def _start(text: pathlib.Path, workdir: pathlib.Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(text), str(workdir), str(NUM_STEPS)],
        cwd=ROOT,
        env=os.environ | {"JAX_COMPILATION_CACHE_DIR": str(workdir.parent / "xla")},
        stderr=subprocess.PIPE,
    )


def _finish(process: subprocess.Popen[bytes]) -> None:
    _, message = process.communicate(timeout=600)
    assert process.returncode == 0, message.decode()


@pytest.mark.slow
def test_a_run_killed_at_random_ends_bit_for_bit_where_the_unbroken_one_ends(tmp_path):
    text = write_text(tmp_path / "text")
    _finish(_start(text, tmp_path / "unbroken"))

    rng = random.Random(0)
    workdir = tmp_path / "broken"
    num_kills = 0
    while num_kills < 4:
        process = _start(text, workdir)
        # Kill once a checkpoint newer than the last start's is being written.
        before = _checkpoints(workdir)
        while process.poll() is None and _checkpoints(workdir) == before:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.3))
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        num_kills += 1
    assert num_kills >= 2, "the run was over before it could be killed"
    _finish(_start(text, workdir))

    ours, theirs = (
        jax.tree_util.tree_leaves_with_path(
            load_run(tmp_path / name, str(NUM_STEPS)).params
        )
        for name in ("broken", "unbroken")
    )
    for (path, left), (_, right) in zip(ours, theirs, strict=True):
        name = jax.tree_util.keystr(path)
        np.testing.assert_array_equal(left, right, err_msg=name)


def _checkpoints(workdir: pathlib.Path) -> set[str]:
    folder = workdir / "checkpoints"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()
