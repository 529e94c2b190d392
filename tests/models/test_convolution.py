import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from tests.reference import convolution as reference
from transformer_jax.models.convolution import Convolution

# Two sentences that share a row, and padding.
SEGMENTS = np.array([[1, 1, 1, 1, 2, 2, 2, 0, 0, 0, 0], [1] * 11])


def _inputs():
    return np.random.default_rng(0).standard_normal((2, 11, 5), np.float32)


def _random(module, x=None):
    x = _inputs() if x is None else x
    return small.random_like(lambda rng: module.init(rng, x, SEGMENTS))


@pytest.mark.parametrize("has_weight_norm", [False, True])
@pytest.mark.parametrize(
    "sizes",
    [
        {"kernel_width": 3},
        {"kernel_width": 5, "dilation": 2},
        {"kernel_width": 3, "dilation": 16},
        {"kernel_width": 4, "is_causal": True},
        {"kernel_width": 3, "is_causal": True, "dilation": 3},
        {"kernel_width": 1},
    ],
    ids=str,
)
def test_a_convolution_agrees_with_the_reference(sizes, has_weight_norm):
    x, module = _inputs(), Convolution(5, 7, **sizes, has_weight_norm=has_weight_norm)
    variables = _random(module)
    options = {name: sizes[name] for name in sizes.keys() - {"kernel_width"}}
    expected = reference.convolution(variables["params"], x, SEGMENTS, **options)
    np.testing.assert_allclose(
        module.apply(variables, x, SEGMENTS), expected, atol=1e-5
    )


@pytest.mark.parametrize("dilation", [1, 3])
def test_steps_give_what_whole_rows_give(dilation):
    module = Convolution(5, 7, 3, dilation, is_causal=True, has_weight_norm=True)
    x, segments = _inputs(), np.ones((2, 11), int)
    variables = _random(module)
    expected = module.apply(variables, x, segments)
    past = module.empty_past(2, 3)
    assert past.shape == (2, 3, 2 * dilation, 5)
    for position in range(11):
        hypotheses = np.stack(
            [x[:, position], 2 * x[:, position], x[::-1, position]], 1
        )
        y, past = module.apply(variables, hypotheses, past, method=module.step)
        np.testing.assert_allclose(y[:, 0], expected[:, position], atol=1e-5)
        np.testing.assert_allclose(y[:, 2], expected[::-1, position], atol=1e-5)


def test_the_weights_of_an_output_are_as_long_as_its_scale():
    """A unit input at one place and one channel reads one weight."""
    module = Convolution(5, 7, 3, has_weight_norm=True)
    params = _random(module)["params"] | {"bias": np.zeros(7, np.float32)}
    x = np.zeros((15, 3, 5), np.float32)
    for index, (place, channel) in enumerate(np.ndindex(3, 5)):
        x[index, place, channel] = 1
    weights = module.apply({"params": params}, x, np.ones((15, 3), int))[:, 1]
    lengths = np.linalg.norm(weights, axis=0)
    np.testing.assert_allclose(lengths, np.abs(params["scale"]), rtol=1e-5)
    other = params | {"kernel": params["kernel"] * np.arange(1, 8, dtype=np.float32)}
    again = module.apply({"params": other}, x, np.ones((15, 3), int))[:, 1]
    np.testing.assert_allclose(again, weights, atol=1e-6)


def test_weight_normalisation_changes_nothing_at_first():
    x = _inputs()
    module = Convolution(5, 7, 3, has_weight_norm=True)
    variables = module.init(jax.random.key(0), x, SEGMENTS)
    plain = Convolution(5, 7, 3).init_with_output(jax.random.key(0), x, SEGMENTS)[0]
    np.testing.assert_allclose(
        module.apply(variables, x, SEGMENTS), plain, rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("variance", [1.0, 3.0])
def test_outputs_have_the_variance_asked_for_at_first(variance):
    x = np.random.default_rng(0).standard_normal((4, 50, 60), np.float32)
    module = Convolution(60, 70, 3, initial_variance=variance)
    y, _ = module.init_with_output(jax.random.key(0), x, np.ones((4, 50), int))
    assert np.var(y[:, 1:-1]) == pytest.approx(variance, rel=0.1)


def test_products_take_and_give_the_compute_type():
    module = Convolution(5, 7, 3, is_causal=True, dtype=jnp.bfloat16)
    x = jnp.asarray(_inputs(), jnp.bfloat16)
    variables = _random(module, x)
    half = module.apply(variables, x, SEGMENTS)
    assert half.dtype == jnp.bfloat16
    exact = reference.convolution(
        variables["params"], np.float64(x), SEGMENTS, is_causal=True
    )
    # bfloat16 keeps 8 bits.
    np.testing.assert_allclose(half, exact, rtol=0.02, atol=0.02)
    y, past = module.apply(
        variables, x[:, :3], module.empty_past(2, 3), method=module.step
    )
    assert y.dtype == past.dtype == jnp.bfloat16


def test_a_window_without_segments_is_refused():
    module = Convolution(5, 7, 3)
    with pytest.raises(ValueError, match="needs segments"):
        module.apply(_random(module), _inputs())
