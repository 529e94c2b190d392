import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from tests.reference import attention as reference
from transformer_jax.models.attention import (
    MultiHeadAttention,
    one_query_attention,
    scaled_dot_product_attention,
)


def _inputs(seed=0):
    rng = np.random.default_rng(seed)
    query = rng.standard_normal((2, 3, 5, 7), dtype=np.float32)
    key = rng.standard_normal((2, 11, 5, 7), dtype=np.float32)
    value = rng.standard_normal((2, 11, 5, 13), dtype=np.float32)
    return query, key, value


def _multi_head(use_bias=False, **kwargs):
    """Return a module, its parameters, [2, 5, 12] and what to look at, [2, 11, 12]."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 5, 12), dtype=np.float32)
    looked_at = rng.standard_normal((2, 11, 12), dtype=np.float32)
    module = MultiHeadAttention(12, 3, d_k=4, d_v=7, use_bias=use_bias, **kwargs)
    params = small.random_like(lambda rng: module.init(rng, x, looked_at, None))
    return module, params, x, looked_at


def test_attention_follows_the_equation():
    query, key, value = _inputs()
    output, weights = scaled_dot_product_attention(query, key, value)
    expected_output, expected_weights = reference.attention(query, key, value)
    np.testing.assert_allclose(output, expected_output, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-6)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)


def test_masked_attention_follows_the_equation():
    query, key, value = _inputs()
    mask = np.random.default_rng(1).random((2, 1, 3, 11)) < 0.5
    mask[0, 0, 1] = False
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    expected_output, expected_weights = reference.attention(query, key, value, mask)
    np.testing.assert_allclose(output, expected_output, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-6)


@pytest.mark.parametrize("is_masked", [False, True])
def test_one_query_by_itself_follows_the_equation(is_masked):
    query, key, value = _inputs()
    query = query[:, :1]
    mask = np.random.default_rng(1).random((2, 1, 1, 11)) < 0.5 if is_masked else None
    output, weights = one_query_attention(query, key, value, mask)
    expected_output, expected_weights = reference.attention(query, key, value, mask)
    np.testing.assert_allclose(output, expected_output, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-6)


def test_two_keys_whose_scores_differ_by_log_3_weigh_1_and_3_quarters():
    query = np.array([2.0, 0.0, 0.0, 0.0], np.float32).reshape(1, 1, 1, 4)
    key = np.zeros((1, 2, 1, 4), np.float32)
    key[0, 1, 0, 0] = np.log(3)  # 2 log(3) / sqrt(4) = log(3)
    value = np.array([8.0, 16.0], np.float32).reshape(1, 2, 1, 1)
    output, weights = scaled_dot_product_attention(query, key, value)
    np.testing.assert_allclose(weights.ravel(), [0.25, 0.75], atol=1e-6)
    np.testing.assert_allclose(output.ravel(), [14.0], atol=1e-5)


def test_masked_weights_are_exactly_zero_even_for_huge_scores():
    query, key, value = _inputs()
    mask = np.ones((1, 1, 1, 11), bool)
    mask[..., 4:] = False
    _, weights = scaled_dot_product_attention(query, 1e4 * key, value, mask)
    assert np.all(np.asarray(weights)[..., 4:] == 0.0)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)


def test_a_query_that_may_look_nowhere_gets_zero_and_finite_gradients():
    query, key, value = _inputs()
    mask = np.ones((2, 1, 3, 11), bool)
    mask[1, 0, 2] = False

    def total(query, key, value):
        output, _ = scaled_dot_product_attention(query, key, value, mask)
        return output.sum(), output

    grads, output = jax.grad(total, argnums=(0, 1, 2), has_aux=True)(query, key, value)
    assert np.all(np.asarray(output)[1, 2] == 0.0)
    assert np.any(np.asarray(output)[1, 1] != 0.0)
    for grad in grads:
        assert np.all(np.isfinite(grad))
    assert np.all(np.asarray(grads[0])[1, 2] == 0.0)


def test_bfloat16_scores_and_softmax_are_float32():
    query, key, value = (jnp.asarray(x, jnp.bfloat16) for x in _inputs())
    jaxpr = str(jax.make_jaxpr(scaled_dot_product_attention)(query, key, value))
    exponentials = [line for line in jaxpr.splitlines() if " exp " in line]
    assert exponentials and all("f32" in line for line in exponentials)
    output, weights = scaled_dot_product_attention(query, key, value)
    assert output.dtype == weights.dtype == jnp.bfloat16


def test_different_depths_of_query_and_key_are_an_error():
    query, key, value = _inputs()
    with pytest.raises(ValueError, match="same depth d_k"):
        scaled_dot_product_attention(query[..., :3], key, value)


@pytest.mark.parametrize("use_bias", [False, True])
def test_multi_head_attention_follows_the_paper(use_bias):
    module, params, x, looked_at = _multi_head(use_bias)
    mask = np.random.default_rng(1).random((2, 1, 5, 11)) < 0.5
    output = module.apply(params, x, looked_at, mask)
    expected, _ = reference.multi_head_attention(params["params"], x, looked_at, mask)
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_weights_are_sown_only_on_request():
    module, params, x, looked_at = _multi_head()
    mask = np.arange(11).reshape(1, 1, 1, 11) < 6
    output, state = module.apply(params, x, looked_at, mask, mutable="intermediates")
    (weights,) = state["intermediates"]["attention_weights"]
    _, expected = reference.multi_head_attention(params["params"], x, looked_at, mask)
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    plain, state = module.apply(params, x, looked_at, mask, mutable=["other"])
    assert not state
    np.testing.assert_array_equal(plain, output)


def test_projections_start_glorot_uniform_each_with_its_own_fans():
    module = MultiHeadAttention(48, 3, d_k=32, d_v=20)
    x = jnp.zeros((1, 1, 48))
    params = module.init(jax.random.key(0), x, x, None)["params"]
    fans = {"query": (48, 96), "key": (48, 96), "value": (48, 60), "output": (60, 48)}
    for name, (fan_in, fan_out) in fans.items():
        kernel = np.asarray(params[name]["kernel"].unbox())
        limit = np.sqrt(6 / (fan_in + fan_out))
        assert 0.98 * limit < np.abs(kernel).max() <= limit
        np.testing.assert_allclose(kernel.std(), limit / np.sqrt(3), rtol=0.05)
