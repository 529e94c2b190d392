import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from transformer_jax.errors import UserError
from transformer_jax.training.optimizer import (
    SCHEDULES,
    ScheduleSettings,
    make_optimizer,
    make_schedule,
    paper_schedule,
)

ADAM = {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9}
SETTINGS = ScheduleSettings(
    "paper",
    d_model=512,
    warmup_steps=10,
    num_steps=100,
    peak_learning_rate=0.5,
    final_fraction=0.1,
    factor=1.0,
)


# 512^-0.5 = 0.0441942 and 4000^-1.5 = 3.95285e-6, so that the first step has their
# product and the thousandth a thousand times as much. From 4000 on the root decides:
# 0.0441942 / 63.2456, / 126.491, / 316.228. The big model's factor is 1024^-0.5 = 1/32.
@pytest.mark.parametrize(
    ("d_model", "step", "expected"),
    [
        (512, 1, 1.7469e-7),
        (512, 1000, 1.7469e-4),
        (512, 4000, 6.9877e-4),
        (512, 16000, 3.4939e-4),
        (512, 100000, 1.3975e-4),
        (1024, 4000, 4.9411e-4),
    ],
)
def test_paper_schedule_has_the_values_worked_out_by_hand(d_model, step, expected):
    # The step that is about to be taken is one more than the updates done.
    rate = paper_schedule(d_model, warmup_steps=4000)(step - 1)
    np.testing.assert_allclose(rate, expected, rtol=5e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("inverse_sqrt", {1: 0.05, 5: 0.25, 10: 0.5, 40: 0.25, 90: 0.5 / 3}),
        ("cosine", {1: 0.05, 5: 0.25, 10: 0.5, 55: 0.275, 100: 0.05}),
        ("linear", {1: 0.05, 5: 0.25, 10: 0.5, 55: 0.275, 100: 0.05}),
        ("constant", {1: 0.05, 5: 0.25, 10: 0.5, 55: 0.5, 100: 0.5}),
    ],
)
def test_schedules_rise_to_their_peak_and_fall_as_worked_out(name, expected):
    schedule = make_schedule(dataclasses.replace(SETTINGS, schedule=name))
    for step, rate in expected.items():
        np.testing.assert_allclose(schedule(step - 1), rate, rtol=1e-5)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_factor_multiplies_every_schedule(name):
    plain = dataclasses.replace(SETTINGS, schedule=name)
    double = dataclasses.replace(plain, factor=2.0)
    for step in (0, 9, 50):
        np.testing.assert_allclose(
            make_schedule(double)(step), 2 * make_schedule(plain)(step), rtol=1e-6
        )


@pytest.mark.parametrize("name", ["cosine", "linear", "constant"])
def test_without_warmup_the_first_update_is_at_the_peak(name):
    schedule = make_schedule(
        dataclasses.replace(SETTINGS, schedule=name, warmup_steps=0)
    )
    np.testing.assert_allclose(schedule(0), 0.5, rtol=0.02)


def test_settings_that_make_no_schedule_are_refused():
    with pytest.raises(UserError, match="'cubic'.*paper, inverse_sqrt"):
        make_schedule(dataclasses.replace(SETTINGS, schedule="cubic"))
    with pytest.raises(UserError, match="warmup_steps=10 .* num_steps=10"):
        make_schedule(dataclasses.replace(SETTINGS, schedule="cosine", num_steps=10))
    with pytest.raises(UserError, match="at least 1, got 0"):
        make_schedule(dataclasses.replace(SETTINGS, warmup_steps=0))


def test_adam_follows_its_equations_with_the_papers_constants():
    optimizer = make_optimizer(**ADAM)
    params = {"a": jnp.array([1.0, -2.0])}
    opt_state = optimizer.init(params)
    mean, square = np.zeros(2), np.zeros(2)
    for count, grad in enumerate(([0.5, -1.0], [2.0, 0.25], [-1.0, 3.0]), start=1):
        updates, opt_state = optimizer.update({"a": jnp.array(grad)}, opt_state, params)
        mean = 0.9 * mean + 0.1 * np.array(grad)
        square = 0.98 * square + 0.02 * np.array(grad) ** 2
        expected = (
            mean / (1 - 0.9**count) / (np.sqrt(square / (1 - 0.98**count)) + 1e-9)
        )
        np.testing.assert_allclose(updates["a"], expected, rtol=1e-5)


def test_adams_first_two_updates_have_the_values_worked_out_by_hand():
    # Gradients 1 and 0. First the mean 0.1 / 0.1 = 1 over the root of 0.02 / 0.02 = 1.
    # Then 0.09 / 0.19 = 0.473684 over the root of 0.0196 / 0.0396 = 0.494949.
    optimizer = make_optimizer(**ADAM)
    params = {"a": jnp.zeros(1)}
    opt_state = optimizer.init(params)
    for grad, expected in ((1.0, 1.0), (0.0, 0.673300)):
        updates, opt_state = optimizer.update({"a": jnp.array([grad])}, opt_state)
        np.testing.assert_allclose(updates["a"], [expected], rtol=1e-5)


def test_adams_epsilon_of_1e_9_stands_outside_the_root():
    # A gradient of epsilon itself gives 1e-9 / (1e-9 + 1e-9) = 1/2; under the root it
    # would give 1e-9 / 3e-5.
    optimizer = make_optimizer(**ADAM)
    grads = {"a": jnp.array([1e-9])}
    updates, _ = optimizer.update(grads, optimizer.init(grads))
    np.testing.assert_allclose(updates["a"], [0.5], rtol=1e-4)


def test_clipping_bounds_the_norm_of_all_gradients_together():
    clipped = make_optimizer(**ADAM, clip_norm=1.0)
    plain = make_optimizer(**ADAM)
    grads = {"a": jnp.array([3.0]), "b": jnp.array([4.0])}
    small = {"a": jnp.array([0.6]), "b": jnp.array([0.8])}
    _, after = clipped.update(grads, clipped.init(grads))
    _, expected = plain.update(small, plain.init(small))
    moments = optax.tree.get(after, "nu"), optax.tree.get(expected, "nu")
    np.testing.assert_allclose(moments[0]["a"], moments[1]["a"], rtol=1e-6)
    np.testing.assert_allclose(moments[0]["b"], moments[1]["b"], rtol=1e-6)


def test_weight_decay_takes_a_share_of_all_but_biases_and_norms():
    # Without a gradient Adam stands still, so that an update is the decay alone.
    optimizer = make_optimizer(**ADAM, weight_decay=0.1)
    layer = {"kernel": jnp.array([[2.0, -3.0]]), "bias": jnp.array([5.0])}
    params = {
        "layer": layer,
        "norm": {"scale": jnp.ones(2), "bias": jnp.ones(2)},
        "table": {"embedding": jnp.array([[7.0]])},
        "logits_bias": jnp.ones(3),
    }
    grads = jax.tree.map(jnp.zeros_like, params)
    updates, _ = optimizer.update(grads, optimizer.init(params), params)
    expected = jax.tree.map(np.zeros_like, params)
    expected["layer"]["kernel"] = np.array([[0.2, -0.3]])
    expected["table"]["embedding"] = np.array([[0.7]])
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), updates, expected
    )


def test_weight_decay_follows_the_schedule_and_not_the_gradient():
    # AdamW's decay is no part of the gradient, so its moments do not hold it.
    decayed, plain = make_optimizer(**ADAM, weight_decay=0.01), make_optimizer(**ADAM)
    params, grads = {"a": jnp.array([4.0])}, {"a": jnp.array([0.5])}
    first, _ = decayed.update(grads, decayed.init(params), params)
    second, _ = plain.update(grads, plain.init(params), params)
    np.testing.assert_allclose(first["a"] - second["a"], [0.04], rtol=1e-5)
