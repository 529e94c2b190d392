import dataclasses
import functools
import json

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.training.saving import RNG, a_file_of, save
from tests.training.toy import assert_same, random_state
from transformer_jax.errors import UserError
from transformer_jax.sharding.mesh import make_mesh, replicated
from transformer_jax.training.checkpoints import CheckpointStore
from transformer_jax.training.saved_arrays import check_directory
from transformer_jax.training.state import TrainState


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


def test_every_file_of_a_step_is_on_its_list(store, tmp_path):
    save(store, 1)
    store.wait()
    folder = tmp_path / "checkpoints" / "1"
    files = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    listed = json.loads((folder / "checksums.json").read_text())
    assert files - listed.keys() == {"checksums.json"}
