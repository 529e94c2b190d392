"""Saves that a kill or a full disk ends leave the step before as it was."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import orbax.checkpoint as ocp
import pytest

from tests.training.saving import save
from tests.training.toy import assert_same, random_state
from transformer_jax.errors import UserError
from transformer_jax.training.checkpoints import CheckpointStore

ROOT = pathlib.Path(__file__).resolve().parents[2]


def start(script, *arguments):
    """Run a script that may use the names of this module in another process."""
    code = "from tests.training.test_interrupted_saves import *\n" + textwrap.dedent(
        script
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def test_a_full_disk_ends_in_an_error_that_says_so_and_spares_the_step_before(tmp_path):
    script = """
        import resource
        store = CheckpointStore(sys.argv[1])
        save(store, 1, random_state(2000))
        store.wait()
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        save(store, 2, random_state(1_000_000))
        try:
            store.close()
        except UserError as error:
            print(error)
    """
    process = start(script, tmp_path)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert f"Step 2 could not be saved to {tmp_path}/checkpoints: File too large" in out
    assert "Traceback" not in err
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["1"]
    with CheckpointStore(tmp_path) as store:
        assert_same(store.restore(random_state(2000))[0], random_state(2000))


@pytest.mark.parametrize(
    ("event", "path", "left"),
    [
        ("os.rename", "checkpoints/2.orbax-checkpoint-tmp", "2.orbax-checkpoint-tmp"),
        ("open", "checkpoints/2/step.json", "2"),
        ("os.rename", "checkpoints/2/checksums.json", "2"),
    ],
)
def test_a_kill_in_the_middle_of_a_save_leaves_the_step_before(
    tmp_path, event, path, left
):
    """Each time just before the event, of which Python tells."""
    kill_second_save(tmp_path, event, path)
    names = {path.name for path in (tmp_path / "checkpoints").iterdir()}
    assert names == {"1", left}
    with CheckpointStore(tmp_path) as store:
        assert store.steps() == [1]
        assert_same(store.restore(random_state(200))[0], random_state(200, seed=1))
        save(store, 2)
        store.wait()
        assert_same(store.restore(random_state(200))[0], random_state(200, seed=2))
    names = {path.name for path in (tmp_path / "checkpoints").iterdir()}
    assert names == {"1", "2"}


def test_no_kill_leaves_weights_without_their_state(tmp_path):
    kill_second_save(tmp_path, "os.rename", "parameters/2/checksums.json")
    with CheckpointStore(tmp_path) as store:
        assert store.steps() == [1, 2]
        assert store.params_steps() == [1]
        assert_same(store.restore(random_state(200))[0], random_state(200, seed=2))
        store.wait()
        assert store.params_steps() == [1, 2]


def kill_second_save(folder, event, path):
    """Save steps 1 and 2, and kill the process just before an event of the second."""
    script = """
        folder, event, path = sys.argv[1:]
        store = CheckpointStore(folder)
        save(store, 1)
        store.wait()

        def kill(name, arguments):
            if name == event and str(arguments[0]).startswith(f"{folder}/{path}"):
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill)
        save(store, 2)
        store.wait()
    """
    process = start(script, folder, event, path)
    _, err = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, err


def test_what_a_save_only_began_goes_before_the_next_and_nothing_else_ever_goes(
    store, tmp_path, monkeypatch
):
    parents = [tmp_path / "checkpoints", tmp_path / "parameters"]
    for parent in parents:
        for name in ("3.orbax-checkpoint-tmp", "4.orbax-checkpoint-tmp-17", "mine"):
            (parent / name).mkdir(parents=True)
            (parent / name / "file").write_text("1")
        (parent / "notes.txt").write_text("2")
    found = []
    orbax_save = ocp.StandardCheckpointer.save

    def recorded(saver, folder, *arguments, **keywords):
        found.append({path.name for path in folder.parent.iterdir()})
        orbax_save(saver, folder, *arguments, **keywords)

    monkeypatch.setattr(ocp.StandardCheckpointer, "save", recorded)
    save(store, 2)
    store.wait()
    assert found == [{"mine", "notes.txt"}] * 2
    for parent in parents:
        assert {path.name for path in parent.iterdir()} == {"2", "mine", "notes.txt"}
        assert (parent / "mine" / "file").exists()


@pytest.mark.parametrize("parents", [["checkpoints", "parameters"], ["checkpoints"]])
def test_only_a_first_save_that_left_nothing_whole_is_started_over(
    store, tmp_path, parents
):
    save(store, 1)
    store.wait()
    for parent in parents:
        (tmp_path / parent / "1" / "checksums.json").unlink()
    if "parameters" in parents:
        assert store.restore(random_state(200)) is None
    else:  # No kill leaves this: its list is lost.
        with pytest.raises(UserError, match="no whole state .* weights of step 1,"):
            store.restore(random_state(200))
