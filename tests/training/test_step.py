import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.tiny_model import tiny_model
from tests.training.toy import assert_same, make_batch, make_state, make_step, toy_loss
from transformer_jax.errors import UserError
from transformer_jax.evaluation.means import Ratio
from transformer_jax.models.dropout import dropout_bits
from transformer_jax.sharding.mesh import make_mesh, replicated, shard_batch
from transformer_jax.tasks.objective import translation_objective
from transformer_jax.training.step import eval_step, gradients

RNG = jax.random.key(3)


@pytest.fixture(scope="module")
def model_loss():
    """The translation objective of a Transformer with dropout, and its parameters."""
    model, params = tiny_model()
    return translation_objective(model, label_smoothing=0.1), params


def assert_close_by_norm(actual, expected):
    """Check that each tensor is within 1e-6 of the other's norm."""
    for (path, got), wanted in zip(
        jax.tree_util.tree_leaves_with_path(actual),
        jax.tree.leaves(expected),
        strict=True,
    ):
        got, wanted = np.asarray(got), np.asarray(wanted)
        # Padding, where gradients vanish in theory, leaves rounding errors alone.
        bound = 1e-6 * np.linalg.norm(wanted) + 1e-9
        assert np.linalg.norm(got - wanted) <= bound, jax.tree_util.keystr(path)


def gradients_of(loss_and_params, batch, num_micro_batches=1):
    loss_fn, params = loss_and_params
    bits = dropout_bits(RNG, batch.target_tokens.shape[0])
    compute = functools.partial(
        gradients, loss_fn=loss_fn, num_micro_batches=num_micro_batches
    )
    return jax.jit(compute)(params, batch, bits)


def gradients_on(num_devices, loss_and_params, num_micro_batches=1):
    """Compute the same gradients on several devices."""
    loss_fn, params = loss_and_params
    mesh = make_mesh(jax.devices()[:num_devices])
    params = jax.device_put(params, replicated(mesh))
    batch = shard_batch(make_batch(), mesh)
    assert len(batch.target_tokens.addressable_shards) == num_devices
    return gradients_of((loss_fn, params), batch, num_micro_batches)


@pytest.fixture(scope="module")
def whole(model_loss):
    """Gradient and sums of one large batch on one device."""
    return gradients_of(model_loss, make_batch())


def test_micro_batches_give_the_gradient_of_one_large_batch(model_loss, whole):
    grads, sums = gradients_of(model_loss, make_batch(), num_micro_batches=4)
    assert_close_by_norm(grads, whole[0])
    for name, total in whole[1].items():
        np.testing.assert_allclose(sums[name], total, rtol=1e-6)


def test_micro_batches_on_four_devices_give_the_gradient_of_one(model_loss, whole):
    grads, _ = gradients_on(4, model_loss, num_micro_batches=2)
    assert_close_by_norm(grads, whole[0])


@pytest.mark.parametrize("num_micro_batches", [1, 2])
@pytest.mark.parametrize("num_devices", [1, 2, 4])
def test_devices_and_micro_batches_in_any_number_give_the_same_gradient(
    num_devices, num_micro_batches
):
    loss_and_params = toy_loss, make_state().params
    expected, _ = gradients_of(loss_and_params, make_batch())
    grads, _ = gradients_on(num_devices, loss_and_params, num_micro_batches)
    assert_close_by_norm(grads, expected)


@pytest.mark.parametrize("num_devices", [1, 2])
def test_a_loss_of_9_over_3_tokens_and_1_over_1_token_is_2_5(num_devices):
    """Not 2, the mean of the devices' means; the gradient likewise."""
    batch = make_batch(num_rows=2)
    weights = np.zeros_like(batch.loss_weights)
    weights[0, :3], weights[1, :1] = 1, 1
    batch = dataclasses.replace(batch, loss_weights=weights)
    per_token = jnp.array([[3.0], [1.0]])

    def loss_fn(params, batch, bits):
        loss_sum = jnp.sum(params["factor"] * per_token * batch.loss_weights)
        weight_sum = jnp.sum(batch.loss_weights)
        return loss_sum, (weight_sum, {"loss": Ratio(loss_sum, weight_sum)})

    mesh = make_mesh(jax.devices()[:num_devices])
    compute = jax.jit(functools.partial(gradients, loss_fn=loss_fn))
    params = jax.device_put({"factor": jnp.ones((1, 1))}, replicated(mesh))
    grads, sums = compute(params, shard_batch(batch, mesh), dropout_bits(RNG, 2))
    assert sums["loss"].total / sums["loss"].weight == 2.5
    assert grads["factor"] == 2.5


def test_rows_that_no_number_of_micro_batches_divides_are_refused():
    with pytest.raises(UserError, match="8 rows cannot be split into 3 micro-batches"):
        make_step(num_micro_batches=3)(make_state(), make_batch(), RNG)


def test_a_step_moves_against_the_gradient_by_the_scheduled_rate():
    batch, state = make_batch(), make_state()
    bits = dropout_bits(jax.random.fold_in(RNG, 0), 8)
    grads, _ = gradients(state.params, batch, bits, loss_fn=toy_loss)
    after, sums = make_step()(state, batch, RNG)
    # Adam's first update is the gradient's sign.
    np.testing.assert_allclose(
        after.params["shift"], -0.01 * jnp.sign(grads["shift"]), rtol=1e-5
    )
    assert (int(after.step), int(after.num_skipped)) == (1, 0)
    assert (sums["gradient_norm"].weight, sums["skipped"]) == (1, 0)


def test_the_schedule_reads_the_states_step_not_adams_counter():
    seen = make_step(schedule=lambda step: jnp.where(step == 5, 1.0, 0.0))
    state = make_state()
    before = np.asarray(state.params["shift"])
    state, _ = seen(state, make_batch(), RNG)
    np.testing.assert_array_equal(state.params["shift"], before)
    state = dataclasses.replace(state, step=jnp.int32(5))
    state, _ = seen(state, make_batch(), RNG)
    assert (np.asarray(state.params["shift"]) != before).all()


def test_each_step_has_dropout_of_its_own_and_repeats_it():
    step = make_step(schedule=lambda step: 0.0 * step)

    def losses(rng):
        state = make_state()
        for _ in range(3):
            state, sums = step(state, make_batch(), rng)
            yield float(sums["loss"].total)

    first = list(losses(RNG))
    assert len(set(first)) == 3
    assert first == list(losses(RNG))
    assert first != list(losses(jax.random.key(4)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_changes_step_and_count_alone(bad):
    batch = make_batch()
    weights = batch.loss_weights.copy()
    weights[0, 0] = bad
    poisoned = dataclasses.replace(batch, loss_weights=weights)
    step = make_step(ema_decay=0.9)
    state, _ = step(make_state(use_ema=True), batch, RNG)
    before = jax.tree.map(np.array, state)
    after, sums = step(state, poisoned, RNG)
    expected = dataclasses.replace(
        before, step=np.array(2, np.int32), num_skipped=np.array(1, np.int32)
    )
    assert_same(after, expected)
    assert sums["skipped"] == 1
    assert all(np.isfinite(total) for total in jax.tree.leaves(sums))


def test_a_batch_of_padding_alone_gives_no_gradient():
    batch = make_batch()
    empty = dataclasses.replace(batch, loss_weights=np.zeros_like(batch.loss_weights))
    grads, _ = gradients(
        make_state().params, empty, dropout_bits(RNG, 8), loss_fn=toy_loss
    )
    np.testing.assert_array_equal(grads["scale"], 0.0)


def test_the_average_of_the_weights_lags_behind_them_by_hand():
    step = make_step(ema_decay=0.15)
    state = make_state(use_ema=True)
    average = np.asarray(state.ema_params["shift"])
    for decay in (1 / 10, 0.15, 0.15):  # min(0.15, n / (n + 9)) after n updates
        state, _ = step(state, make_batch(), RNG)
        average = decay * average + (1 - decay) * np.asarray(state.params["shift"])
        np.testing.assert_allclose(state.ema_params["shift"], average, rtol=1e-5)


def test_evaluation_has_no_dropout():
    batch, params = make_batch(), make_state().params
    sums = eval_step(params, batch, loss_fn=toy_loss)
    assert sums["loss"].total == toy_loss(params, batch, None)[0]
