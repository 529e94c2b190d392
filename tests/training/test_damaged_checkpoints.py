"""Checkpoints that are not whole: passed over, refused or made up for, by name."""

import os
import shutil

import pytest

from tests.training.saving import a_file_of, save
from tests.training.toy import assert_same, random_state
from transformer_jax.errors import UserError
from transformer_jax.training.averaging import average_last


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


def test_a_copy_of_another_step_is_no_state_of_its_name(store, tmp_path, caplog):
    save(store, 1)
    store.wait()
    shutil.copytree(tmp_path / "checkpoints/1", tmp_path / "checkpoints/5")
    assert_same(store.restore(random_state(200))[0], random_state(200, seed=1))
    assert "checkpoints/5: it is a copy of step 1" in caplog.text


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
