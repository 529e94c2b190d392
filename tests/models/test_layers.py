import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from tests.reference import layers as reference
from transformer_jax.models.layers import FeedForward, Linear, Residual
from transformer_jax.models.norms import LayerNorm


def _random_params(module, *args):
    return small.random_like(lambda rng: module.init(rng, *args))


def _normal(*shape):
    return np.random.default_rng(7).standard_normal(shape, dtype=np.float32)


def test_layer_norm_by_hand():
    # Mean 1/4, population variance 3/16: 0.75 / sqrt(0.1875) = 1.7320.
    x = np.array([[[1.0, 0.0, 0.0, 0.0]]], np.float32)
    module = LayerNorm(1e-6)
    output = module.apply(module.init(jax.random.key(0), x), x)
    expected = [1.7320, -0.5773, -0.5773, -0.5773]
    np.testing.assert_allclose(output[0, 0], expected, atol=1e-4)


def test_layer_norms_epsilon_stands_under_the_root_by_hand():
    # Variance 3/16 and epsilon 1/16 make a root of 1/2: 0.75 / 0.5 and -0.25 / 0.5.
    x = np.array([[[1.0, 0.0, 0.0, 0.0]]], np.float32)
    module = LayerNorm(1 / 16)
    output = module.apply(module.init(jax.random.key(0), x), x)
    np.testing.assert_allclose(output[0, 0], [1.5, -0.5, -0.5, -0.5], atol=1e-6)


def test_layer_norm_follows_the_equation():
    x = _normal(2, 3, 5)
    module = LayerNorm(0.1)
    params = _random_params(module, x)
    expected = reference.layer_norm(params["params"], x, 0.1)
    np.testing.assert_allclose(module.apply(params, x), expected, atol=1e-5)


def test_layer_norm_keeps_small_differences_of_large_numbers():
    x = _normal(1, 2, 64)
    module = LayerNorm(1e-6)
    params = module.init(jax.random.key(0), x)
    shifted = module.apply(params, x + 1000)
    # Adding 1000 itself rounds x to 6e-5.
    np.testing.assert_allclose(shifted, module.apply(params, x), atol=2e-4)


def test_layer_norm_of_equal_numbers_has_finite_gradients():
    x = np.ones((1, 1, 4), np.float32)
    module = LayerNorm(1e-6)
    params = module.init(jax.random.key(0), x)
    grad = jax.grad(lambda x: jnp.square(module.apply(params, x)).sum())(x)
    assert np.all(np.isfinite(grad))


@pytest.mark.parametrize("activation", ["relu", "gelu", "swish"])
def test_feed_forward_follows_the_equation(activation):
    x = _normal(2, 3, 5)
    module = FeedForward(11, activation)
    params = _random_params(module, x)
    expected = reference.feed_forward(params["params"], x, activation)
    np.testing.assert_allclose(module.apply(params, x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_residual_puts_the_norm_where_it_belongs(norm_position):
    x = _normal(2, 3, 5)
    module = Residual(0.1, norm_position)
    params = _random_params(module, x, jnp.sin)
    output = module.apply(params, x, jnp.sin)
    expected = reference.residual(params["params"], x, np.sin, norm_position)
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_linear_maps_groups_of_axes():
    x = _normal(2, 3, 5, 7)
    module = Linear((5, 7), (11, 13), ("a", "b"), ("c", "d"), use_bias=True)
    params = _random_params(module, x)
    kernel, bias = params["params"]["kernel"], params["params"]["bias"]
    assert kernel.shape == (5, 7, 11, 13)
    expected = np.einsum("stab,abcd->stcd", x, kernel) + bias
    np.testing.assert_allclose(module.apply(params, x), expected, rtol=1e-4, atol=1e-4)


def test_bfloat16_products_add_up_in_float32():
    # 1 + 256 * 2^-9: in bfloat16 no single addend would change the 1.
    x = np.array([[1.0] + [2.0**-9] * 256], np.float32)
    module = Linear((257,), (1,), ("a",), ("b",), dtype=jnp.bfloat16)
    params = {"params": {"kernel": np.ones((257, 1), np.float32)}}
    output = module.apply(params, x)
    assert output.dtype == jnp.bfloat16
    assert output[0, 0] == 1.5
