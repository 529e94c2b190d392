"""A run killed at any moment ends where the unbroken one ends."""

import pathlib
import random
import signal
import subprocess
import sys

import jax
import numpy as np
import pytest

from tests.tiny_run import write_text
from transformer_jax.runs.trained_run import load_run

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUM_STEPS = 30

# Kills itself just before Python's change of the given number to the checkpoints; never
# if that is 0.
_PROGRAM = """
import itertools, os, pathlib, signal, sys
from tests.tiny_run import tiny_config
from transformer_jax.runs import experiment
from transformer_jax.commands.messages import command

text, workdir, num_steps, last_change = sys.argv[1:]
changes = itertools.count(1)

def kill(event, arguments):
    if event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir"):
        if f"{workdir}/checkpoints" in str(arguments[0]):
            if next(changes) == int(last_change):
                os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
with command("train"):
    config = tiny_config(pathlib.Path(text), num_steps=int(num_steps))
    config.evaluation.eval_every_steps = 10
    experiment.train(config, workdir)
"""


def _train(
    text: pathlib.Path, workdir: pathlib.Path, last_change: int = 0
) -> tuple[int, str]:
    """Train in another process; return its exit code and what it logged."""
    process = subprocess.run(
        [sys.executable, "-c", _PROGRAM]
        + [str(argument) for argument in (text, workdir, NUM_STEPS, last_change)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        timeout=600,
        text=True,
    )
    return process.returncode, process.stderr


@pytest.mark.slow
def test_a_run_killed_at_random_ends_bit_for_bit_where_the_unbroken_one_ends(tmp_path):
    text = write_text(tmp_path / "text")
    code, log = _train(text, tmp_path / "unbroken")
    assert code == 0, log

    rng = random.Random(0)
    for _ in range(5):
        # A save makes ten changes, and there are fifteen saves.
        last_change = rng.randint(8, 33)
        code, log = _train(text, tmp_path / "broken", last_change)
        assert code == -signal.SIGKILL, log
    code, log = _train(text, tmp_path / "broken")
    assert code == 0, log

    ours, theirs = (
        jax.tree_util.tree_leaves_with_path(
            load_run(tmp_path / name, str(NUM_STEPS)).params
        )
        for name in ("broken", "unbroken")
    )
    for (path, left), (_, right) in zip(ours, theirs, strict=True):
        name = jax.tree_util.keystr(path)
        np.testing.assert_array_equal(left, right, err_msg=name)
