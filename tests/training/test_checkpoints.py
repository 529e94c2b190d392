import dataclasses
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest

from tests.training.toy import assert_same, random_state
from transformer_jax.errors import UserError
from transformer_jax.sharding.mesh import make_mesh, replicated
from transformer_jax.training.averaging import average_last
from transformer_jax.training.checkpoints import CheckpointStore
from transformer_jax.training.saved_arrays import check_directory
from transformer_jax.training.state import TrainState

ROOT = pathlib.Path(__file__).resolve().parents[2]
RNG = jax.random.key(17)


def save(store, step, state=None, *, score=None, **metadata):
    state = random_state(200, seed=step) if state is None else state
    store.save(step, state, rng=RNG, metadata=metadata, score=score)


def a_file_of(folder):
    """The largest file that Orbax wrote of a step, where the numbers are."""
    return max(folder.rglob("d/*"), key=lambda path: path.stat().st_size)


@pytest.fixture
def store(tmp_path):
    with CheckpointStore(tmp_path, keep_params=3) as store:
        yield store


@pytest.mark.parametrize("use_ema", [False, True])
def test_what_is_restored_is_what_was_saved_bit_for_bit(store, use_ema):
    state = random_state(300, use_ema)
    state = dataclasses.replace(state, step=jnp.int32(7), num_skipped=jnp.int32(2))
    save(store, 7, state, config="a1b2", tokenizers=["c3", "d4"])
    store.wait()
    restored, rng, metadata = store.restore(jax.eval_shape(lambda: state))
    assert_same(restored, state)
    np.testing.assert_array_equal(jax.random.key_data(rng), jax.random.key_data(RNG))
    assert metadata == {"config": "a1b2", "tokenizers": ["c3", "d4"]}
    kept = store.restore_params("last", state.params)
    assert_same(kept, state.ema_params if use_ema else state.params)


@flax.struct.dataclass
class _OlderState(TrainState):
    loss_scale: jax.Array | None = None


@pytest.mark.parametrize("use_ema", [False, True])
def test_a_part_that_older_states_had_as_none_may_be_gone(store, use_ema):
    state = random_state(300, use_ema)
    save(store, 7, _OlderState(**vars(state)))
    store.wait()
    restored, _, _ = store.restore(jax.eval_shape(lambda: state))
    assert_same(restored, state)


def test_a_part_with_numbers_may_not_be_gone(store):
    state = random_state(300)
    save(store, 7, _OlderState(**vars(state) | {"loss_scale": jnp.float32(2)}))
    store.wait()
    with pytest.raises(UserError, match="state/loss_scale is float32.* and missing"):
        store.restore(state)


def test_a_state_donated_while_it_is_being_saved_is_saved_as_it_was(store):
    state = random_state(300_000)
    before = jax.tree.map(np.array, state)
    advance = jax.jit(
        functools.partial(jax.tree.map, lambda leaf: leaf + 1), donate_argnums=0
    )
    save(store, 1, state)
    for _ in range(20):
        state = advance(state)
    store.wait()
    assert_same(store.restore(state)[0], before)


def test_a_state_is_restored_onto_another_number_of_devices(store):
    state = random_state(300)
    save(store, 1, jax.device_put(state, replicated(make_mesh(jax.devices()[:2]))))
    store.wait()
    sharding = replicated(make_mesh(jax.devices()[:4]))
    abstract = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
        state,
    )
    restored, rng, _ = store.restore(abstract)
    assert_same(restored, state)
    assert restored.params["layer_0"]["kernel"].sharding == sharding
    # The key goes with arrays of any mesh.
    jax.jit(lambda rng, step: jax.random.fold_in(rng, step))(rng, restored.step)


def test_an_empty_run_restores_nothing_and_says_so_for_parameters(store):
    state = random_state(200)
    assert store.restore(state) is None
    with pytest.raises(UserError, match="There is no whole checkpoint in .*parameters"):
        store.restore_params("last", state.params)


def test_the_newest_states_the_newest_parameters_and_the_best_stay(store):
    for step, score in enumerate([10.0, 30.0, 20.0, 5.0, None, 7.0], start=1):
        save(store, step, score=score)
    store.wait()
    assert store.steps() == [5, 6]
    assert store.params_steps() == [2, 4, 5, 6]
    assert store.best_step() == 2
    assert store.resolve("best") == 2
    assert store.resolve("last") == 6


def test_no_score_zero_and_nan_are_never_the_best_and_equals_go_to_the_earlier(store):
    for step, score in enumerate([0.0, None, float("nan")], start=1):
        save(store, step, score=score)
    store.wait()
    assert store.best_step() is None
    with pytest.raises(UserError, match="1, 2, 3, but none of them has a validation"):
        store.resolve("best")
    for step in (4, 5):
        save(store, step, score=3.0)
    store.wait()
    assert store.best_step() == 4


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove", "checksums", "note"])
def test_a_damaged_newest_step_is_skipped_with_a_warning_and_can_be_saved_again(
    store, tmp_path, caplog, damage
):
    for step in (1, 2):
        save(store, step)
    store.wait()
    newest = tmp_path / "checkpoints" / "2"
    victim = a_file_of(newest)
    if damage == "flip":
        data = bytearray(victim.read_bytes())
        data[len(data) // 2] ^= 1
        victim.write_bytes(data)
    elif damage == "truncate":
        os.truncate(victim, victim.stat().st_size // 2)
    elif damage == "remove":
        victim.unlink()
    elif damage == "checksums":
        (newest / "checksums.json").unlink()
    else:
        (newest / "step.json").write_text("{")
    state, _, _ = store.restore(random_state(200))
    assert_same(state, random_state(200, seed=1))
    assert f"Skipping checkpoint {newest}" in caplog.text

    save(store, 2)
    store.wait()
    caplog.clear()
    assert_same(store.restore(random_state(200))[0], random_state(200, seed=2))
    assert not caplog.text


def test_weights_newer_than_what_is_saved_stay_until_the_run_comes_there_again(
    store, tmp_path
):
    for step, score in ((1, 1.0), (2, 9.0), (3, 2.0)):
        save(store, step, score=score)
    store.wait()
    for step in (2, 3):
        a_file_of(tmp_path / "checkpoints" / str(step)).unlink()
    save(store, 1, score=1.0)
    store.wait()
    assert store.params_steps() == [1, 2, 3]
    assert store.best_step() == 2
    assert_same(store.restore(random_state(200))[0], random_state(200, seed=1))


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


@pytest.mark.parametrize("name", ["0003", "5", "12", "5.backup"])
def test_folders_that_no_save_has_written_stay_as_they_are(store, tmp_path, name):
    for parent in (tmp_path / "checkpoints", tmp_path / "parameters"):
        (parent / name).mkdir(parents=True)
        (parent / name / "notes.txt").write_text("mine")
    for step in (2, 7, 8, 9):
        save(store, step)
    store.wait()
    assert_same(store.restore(random_state(200))[0], random_state(200, seed=9))
    for parent in (tmp_path / "checkpoints", tmp_path / "parameters"):
        assert (parent / name / "notes.txt").read_text() == "mine"
    assert store.params_steps() == [7, 8, 9]


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_lies_in_a_saves_place_gets_another_name(
    store, tmp_path, is_folder, caplog
):
    place = tmp_path / "checkpoints" / "2"
    if is_folder:
        place.mkdir(parents=True)
    else:
        place.parent.mkdir()
        place.write_text("mine")
    save(store, 2)
    store.wait()
    assert store.steps() == [2]
    assert (place.parent / "2.other1").exists()
    assert f"{place} is no checkpoint" in caplog.text


def test_a_copy_of_another_step_is_no_state_of_its_name(store, tmp_path, caplog):
    save(store, 1)
    store.wait()
    shutil.copytree(tmp_path / "checkpoints/1", tmp_path / "checkpoints/5")
    assert_same(store.restore(random_state(200))[0], random_state(200, seed=1))
    assert "checkpoints/5: it is a copy of step 1" in caplog.text


@pytest.mark.parametrize("name", ["a[b]c", "[!x]", "a\\b"])
def test_a_path_that_orbax_takes_for_a_pattern_is_refused_and_never_counts_as_saved(
    tmp_path, name
):
    with pytest.raises(UserError, match="square brackets or a backslash"):
        check_directory(tmp_path / name / "run")
    store = CheckpointStore(tmp_path / name)
    save(store, 1)
    with pytest.raises(UserError, match="cannot be read back"):
        store.close()
    assert store.steps() == store.params_steps() == []


@pytest.mark.parametrize("name", ["a[b", "a]b[", "a*b", "a?b", "a b%20#~", "Ü:|;&'"])
def test_other_signs_in_a_path_harm_nothing(tmp_path, name):
    check_directory(tmp_path / name)
    with CheckpointStore(tmp_path / name) as store:
        save(store, 1)
        store.wait()
        assert_same(store.restore(random_state(200))[0], random_state(200, seed=1))


def test_weights_without_a_state_are_never_trained_over(store, tmp_path):
    for step in (1, 2):
        save(store, step)
    store.wait()
    shutil.rmtree(tmp_path / "checkpoints")
    for refuse in (store.check_states, lambda: store.restore(random_state(200))):
        with pytest.raises(UserError, match="weights of step 1, 2, .*init_from="):
            refuse()
    assert not store.is_finished(2)


def test_missing_or_damaged_parameters_of_the_newest_state_are_written_anew(
    store, tmp_path, caplog
):
    for step, score in ((1, 1.0), (2, 3.0)):
        save(store, step, score=score)
    store.wait()
    assert store.is_finished(2)
    a_file_of(tmp_path / "parameters/2").unlink()
    assert not store.is_finished(2)
    (tmp_path / "checkpoints/2/mine").touch()
    store.restore(random_state(200))
    store.wait()
    assert (tmp_path / "checkpoints/2/mine").exists()  # The state is left alone.
    assert "parameters/2 is written anew from the state beside it" in caplog.text
    assert store.is_finished(2)
    assert store.scores() == {1: 1.0, 2: 3.0}
    restored = store.restore_params(2, random_state(200).params)
    assert_same(restored, random_state(200, seed=2).params)


@pytest.mark.parametrize("damage", ["no list", "empty list", "no note"])
def test_a_best_that_is_not_whole_is_named_when_best_is_asked_for(
    store, tmp_path, caplog, damage
):
    for step, score in ((1, 1.0), (2, 9.0), (3, 2.0)):
        save(store, step, score=score)
    store.wait()
    folder = tmp_path / "parameters/2"
    params = random_state(200).params
    if damage == "empty list":
        (folder / "checksums.json").write_text("{}")
        with pytest.raises(UserError, match="parameters/2 are damaged"):
            store.restore_params("best", params)
        return
    name = "checksums.json" if damage == "no list" else "step.json"
    (folder / name).write_text("{") if damage == "no note" else (folder / name).unlink()
    assert store.resolve("best") == 3
    assert "parameters/2" in caplog.text
    caplog.clear()
    if damage == "no list":
        with pytest.raises(UserError, match="parameters/2 are damaged: its saving did"):
            store.restore_params(2, params)
        assert average_last(store, 2, params).steps == (1, 3)
    else:
        with pytest.raises(UserError, match="parameters/2 are damaged"):
            average_last(store, 3, params)
    assert "parameters/2" in caplog.text


def test_an_old_step_that_may_have_been_the_best_is_named_when_it_goes(
    store, tmp_path, caplog
):
    save(store, 1, score=9.0)
    store.wait()
    (tmp_path / "parameters/1/step.json").write_text("{")
    for step in (2, 3, 4, 5):
        save(store, step, score=1.0)
    store.wait()
    assert store.params_steps() == [2, 3, 4, 5]
    assert "Removing" in caplog.text and "parameters/1" in caplog.text


def test_a_run_without_a_whole_state_is_refused_by_name(store, tmp_path):
    for step in (1, 2):
        save(store, step)
    store.wait()
    for step in (1, 2):
        a_file_of(tmp_path / "checkpoints" / str(step)).unlink()
    with pytest.raises(UserError, match=f"None of the 2 .*{tmp_path}/checkpoints"):
        store.restore(random_state(200))


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


def test_the_only_weights_are_named_if_they_are_not_whole(store, tmp_path, caplog):
    save(store, 1)
    store.wait()
    (tmp_path / "parameters/1/checksums.json").unlink()
    for which in ("last", "best", 1):
        caplog.clear()
        with pytest.raises(UserError, match="There is no whole checkpoint"):
            store.resolve(which)
        assert "parameters/1: its saving did not come to an end" in caplog.text


def test_damaged_parameters_are_refused_when_named_and_passed_over_as_last(
    store, tmp_path, caplog
):
    for step in (1, 2):
        save(store, step, score=float(step))
    store.wait()
    a_file_of(tmp_path / "parameters" / "2").unlink()
    params = random_state(200).params
    for which in (2, "best"):
        with pytest.raises(UserError, match="parameters/2 are damaged.* holds 1"):
            store.restore_params(which, params)
    assert_same(store.restore_params("last", params), random_state(200, seed=1).params)
    assert "parameters/2" in caplog.text
    with pytest.raises(UserError, match="holds the steps 1, 2, but not 5"):
        store.restore_params(5, params)


def test_another_model_is_refused_with_the_array_that_differs(store):
    save(store, 1)
    store.wait()
    with pytest.raises(UserError, match=r"layer_0/kernel is float32\[2, 100\] on disk"):
        store.restore(random_state(300))
    other = {"layer_0": {"kernel": jnp.zeros((2, 100)), "bias": jnp.zeros((3,))}}
    with pytest.raises(UserError, match=r"bias is missing on disk and float32\[3\]"):
        store.restore_params(1, other)


def test_a_store_must_keep_something(tmp_path):
    with pytest.raises(UserError, match="keep_params=0"):
        CheckpointStore(tmp_path, keep_params=0)


def start(script, *arguments):
    """Run a script that may use the names of this module in another process."""
    code = "from tests.training.test_checkpoints import *\n" + textwrap.dedent(script)
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


def test_every_file_of_a_step_is_on_its_list(store, tmp_path):
    save(store, 1)
    store.wait()
    folder = tmp_path / "checkpoints" / "1"
    files = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    listed = json.loads((folder / "checksums.json").read_text())
    assert files - listed.keys() == {"checksums.json"}
