import dataclasses
import itertools
import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.training.toy import assert_same, random_state
from transformer_jax.errors import UserError
from transformer_jax.training.averaging import (
    average_last,
    average_range,
    average_steps,
)
from transformer_jax.training.checkpoints import CheckpointStore

LIKE = random_state(200)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Steps 10, 20 and 30, with parameters of very different sizes."""
    with CheckpointStore(tmp_path_factory.mktemp("run")) as store:
        for step in (10, 20, 30):
            state = random_state(200, seed=step)
            kernel = state.params["layer_0"]["kernel"] * 100.0 ** (step // 10)
            state = dataclasses.replace(state, params={"layer_0": {"kernel": kernel}})
            store.save(step, state, rng=jax.random.key(0), metadata={})
        store.wait()
        yield store


def test_the_mean_is_that_of_double_precision(store):
    average = average_last(store, 3, LIKE.params)
    assert average.steps == (10, 20, 30)
    kernels = [
        np.asarray(store.restore_params(step, LIKE.params)["layer_0"]["kernel"], float)
        for step in (10, 20, 30)
    ]
    expected = np.mean(kernels, axis=0).astype(np.float32)
    np.testing.assert_array_equal(average.params["layer_0"]["kernel"], expected)


def test_the_order_of_the_steps_does_not_matter(store):
    first, *others = (
        average_steps(store, steps, LIKE.params)
        for steps in itertools.permutations((10, 20, 30))
    )
    for other in others:
        assert other.steps == first.steps
        assert_same(other.params, first.params)


def test_the_mean_of_one_is_itself(store):
    average = average_last(store, 1, LIKE.params)
    assert average.steps == (30,)
    assert_same(average.params, jax.device_get(store.restore_params(30, LIKE.params)))


def test_an_older_best_is_none_of_the_last(tmp_path):
    with CheckpointStore(tmp_path, keep_params=2) as store:
        for step, score in ((10, 9.0), (20, 8.0), (30, 7.0)):
            state = random_state(200, seed=step)
            store.save(step, state, rng=jax.random.key(0), metadata={}, score=score)
        store.wait()
        assert store.params_steps() == [10, 20, 30]
        assert average_last(store, 2, LIKE.params).steps == (20, 30)
        with pytest.raises(UserError, match="last 3 .* keeps the last 2 .20, 30"):
            average_last(store, 3, LIKE.params)


def test_too_many_missing_and_doubled_steps_are_refused(store):
    with pytest.raises(UserError, match="last 4 .* keeps the last 3 .10, 20, 30"):
        average_last(store, 4, LIKE.params)
    with pytest.raises(UserError, match="but not 15"):
        average_steps(store, (10, 15), LIKE.params)
    with pytest.raises(UserError, match=r"once each, got \[10, 10\]"):
        average_steps(store, (10, 10), LIKE.params)


@pytest.mark.parametrize(
    ("bounds", "steps"),
    [
        ((10, 30, 10), (10, 20, 30)),
        ((10, 30, 20), (10, 30)),
        ((20, 20, 7), (20,)),
        ((10, 30, None), (10, 20, 30)),
        ((11, 99, None), (20, 30)),
    ],
)
def test_a_range_holds_both_of_its_ends(store, bounds, steps):
    average = average_range(store, *bounds, LIKE.params)
    assert average.steps == steps
    assert_same(average.params, average_steps(store, steps, LIKE.params).params)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((5, 30, 5), "5 to 30 by 5: the run lacks 5, 15, 25 and keeps 10, 20, 30"),
        ((1, 30, 1), "the run lacks 1, 2, .*, 21, 22, more and keeps"),
        ((0, 10**12, 1), "the run lacks 0, 1, .*, more and keeps"),
        ((11, 19, None), "11 to 19: the run lacks all of them and keeps 10, 20, 30"),
    ],
)
def test_a_range_with_missing_steps_is_refused(store, bounds, message):
    with pytest.raises(UserError, match=message):
        average_range(store, *bounds, LIKE.params)


def test_what_is_averaged_is_logged(store, caplog):
    with caplog.at_level(logging.INFO, logger="transformer_jax"):
        average_steps(store, (30, 10), LIKE.params)
    assert "Averaging the weights of 2 checkpoints: 10, 30" in caplog.messages


def test_another_model_is_refused(store):
    with pytest.raises(UserError, match="does not fit this model"):
        average_last(store, 2, {"layer_0": {"kernel": jnp.zeros((3, 100))}})
