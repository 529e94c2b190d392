"""One process trains in a run at a time, whatever becomes of the others."""

import json
import os
import pathlib
import platform
import queue
import signal
import subprocess
import sys
import time

import pytest

from transformer_jax.errors import UserError
from transformer_jax.runs import run_lock
from transformer_jax.runs.run_lock import training_lock

ROOT = pathlib.Path(__file__).resolve().parents[2]
_HOLD = """
import sys
from transformer_jax.runs.run_lock import training_lock
with training_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def _lock(path: pathlib.Path, age: float, **owner: object) -> pathlib.Path:
    path.write_text(json.dumps(owner))
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def test_a_second_process_is_refused_and_a_killed_ones_lock_is_free(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, tmp_path],
        cwd=ROOT,
        stdin=subprocess.PIPE,  # Closed when the test ends, however it does.
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        who = rf"in use: process {holder.pid} on {platform.node()}, since 20"
        with pytest.raises(UserError, match=who), training_lock(tmp_path):
            pass
        holder.send_signal(signal.SIGKILL)
    assert (tmp_path / "lock").exists()
    with training_lock(tmp_path):
        assert json.loads((tmp_path / "lock").read_text())["process"] == os.getpid()
    assert not (tmp_path / "lock").exists()


@pytest.mark.parametrize("new_one", [False, True])
def test_a_run_that_was_moved_is_written_no_more_and_a_new_ones_lock_stays(
    tmp_path, new_one
):
    root = tmp_path / "run"
    with training_lock(root) as require_lock:
        require_lock()
        root.rename(tmp_path / "elsewhere")
        if new_one:
            root.mkdir()
            _lock(root / "lock", 0)
        with pytest.raises(UserError, match="run was moved or removed .*--workdir"):
            require_lock()
    assert (root / "lock").exists() == new_one


def test_another_hosts_lock_holds_until_it_has_not_been_touched_for_long(tmp_path):
    path = _lock(tmp_path / "lock", 60, host="elsewhere", process=1, since="noon")
    with (
        pytest.raises(UserError, match=r"process 1 on elsewhere, since noon"),
        training_lock(tmp_path),
    ):
        pass
    assert json.loads(path.read_text())["host"] == "elsewhere"
    _lock(path, run_lock.STALE_SECONDS + 1, host="elsewhere", process=1, since="noon")
    with training_lock(tmp_path):
        pass


@pytest.mark.parametrize("content", ["", "{", "[]", "\0" * 9])
def test_a_lock_that_cannot_be_read_and_that_nobody_holds_is_free(tmp_path, content):
    (tmp_path / "lock").write_text(content)
    with training_lock(tmp_path):
        pass


def test_the_holder_touches_its_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(run_lock, "_TOUCH_SECONDS", 0.01)
    touched: queue.Queue[pathlib.Path] = queue.Queue()
    monkeypatch.setattr(run_lock.os, "utime", touched.put)
    with training_lock(tmp_path):
        assert touched.get(timeout=60) == tmp_path / "lock"


@pytest.mark.parametrize("is_alive", [True, False])
def test_without_locks_of_the_file_system_the_process_is_looked_for(
    tmp_path, monkeypatch, is_alive
):
    def no_locks(*arguments):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(run_lock.fcntl, "flock", no_locks)
    process = os.getppid() if is_alive else 2**22 + 1
    _lock(tmp_path / "lock", 0, host=platform.node(), process=process, since="noon")
    if is_alive:
        with pytest.raises(UserError, match="in use"), training_lock(tmp_path):
            pass
    else:
        with training_lock(tmp_path):
            pass


@pytest.mark.parametrize(
    ("starter", "environment"),
    [
        ("srun", {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "2"}),
        ("torchrun", {"WORLD_SIZE": "8", "RANK": "0"}),
        ("mpirun", {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}),
    ],
)
def test_one_of_several_copies_that_know_nothing_of_one_another_is_refused(
    tmp_path, monkeypatch, starter, environment
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(UserError, match=f"{starter} started [248] copies"),
        training_lock(tmp_path),
    ):
        pass


@pytest.mark.parametrize(
    "environment",
    [
        {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"},
        {"WORLD_SIZE": "8"},
        {"WORLD_SIZE": "1", "RANK": "0"},
    ],
)
def test_a_single_copy_is_not(tmp_path, monkeypatch, environment):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with training_lock(tmp_path):
        pass


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UserError, match="Cannot lock .*file/run"),
        training_lock(tmp_path / "file" / "run"),
    ):
        pass
