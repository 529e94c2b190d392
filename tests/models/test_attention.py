import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from tests.reference import attention as reference
from transformer_jax.models.attention import (
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)
from transformer_jax.models.attention_cache import (
    Memory,
    Past,
    attention_to_memory,
    attention_to_past,
)
from transformer_jax.models.masks import Visibility


def _inputs(seed=0):
    rng = np.random.default_rng(seed)
    query = rng.standard_normal((2, 3, 5, 7), dtype=np.float32)
    key = rng.standard_normal((2, 11, 5, 7), dtype=np.float32)
    value = rng.standard_normal((2, 11, 5, 13), dtype=np.float32)
    return query, key, value


def _multi_head(**kwargs):
    """Return a module, its parameters, what it is given and that as a mask.

    [2, 5, 12] looks at a memory [2, 11, 12], whose second row ends in padding.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 5, 12), dtype=np.float32)
    memory = rng.standard_normal((2, 11, 12), dtype=np.float32)
    key_segments = np.array([[1] * 4 + [2] * 7, [1] * 6 + [0] * 5])
    visible = Visibility(np.array([[1, 1, 1, 2, 2], [1, 1, 1, 1, 0]]), key_segments)
    module = MultiHeadAttention(12, 3, d_k=4, **{"d_v": 7, **kwargs})
    given = {"x": x, "visible": visible, "memory": memory}
    params = small.random_like(lambda rng: module.init(rng, **given))
    return module, params, given, np.asarray(visible.mask())


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


def test_the_newest_token_follows_the_equation():
    query, key, value = _inputs()  # Three hypotheses with eleven tokens each.
    key = np.stack([key, key + 1, key - 1], axis=1)  # [b, n, k, h, d]
    value = np.stack([value, value + 1, value - 1], axis=1)
    past = Past(np.einsum("bnkhd->bnhkd", key), np.einsum("bnkhd->bnhkd", value))
    output = attention_to_past(query, past, 6)
    for n in range(3):
        expected, _ = reference.attention(
            query[:, n : n + 1], key[:, n, :7], value[:, n, :7]
        )
        np.testing.assert_allclose(output[:, n : n + 1], expected, atol=1e-5)


def test_hypotheses_look_at_their_sentence_as_the_equation_says():
    query, key, value = _inputs()
    memory = Memory(np.einsum("bkhd->bhkd", key), np.einsum("bkhd->bhdk", value))
    mask = (np.arange(11) < np.array([[11], [4]]))[:, None, None]
    output = attention_to_memory(query, memory, mask)
    expected, _ = reference.attention(query, key, value, mask)
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_two_keys_whose_scores_differ_by_log_3_weigh_1_and_3_quarters():
    query = np.array([2.0, 0.0, 0.0, 0.0], np.float32).reshape(1, 1, 1, 4)
    key = np.zeros((1, 2, 1, 4), np.float32)
    key[0, 1, 0, 0] = np.log(3)  # 2 log(3) / sqrt(4) = log(3)
    value = np.array([8.0, 16.0], np.float32).reshape(1, 2, 1, 1)
    output, weights = scaled_dot_product_attention(query, key, value)
    np.testing.assert_allclose(weights.ravel(), [0.25, 0.75], atol=1e-6)
    np.testing.assert_allclose(output.ravel(), [14.0], atol=1e-5)


def test_scores_that_are_not_scaled_are_plain_products():
    """In every way that attention is computed; one query is a step of decoding."""
    query, key, value = _inputs()
    value = value[..., :7]
    expected, _ = reference.attention(query, key, value, scaling="none")
    scaled, _ = reference.attention(query, key, value)
    assert np.abs(expected - scaled).max() > 0.1
    plain, _ = scaled_dot_product_attention(query, key, value, scaling="none")
    memory = Memory(np.einsum("bkhd->bhkd", key), np.einsum("bkhd->bhdk", value))
    everywhere = np.ones((2, 1, 1, 11), bool)
    by_hypothesis = [np.stack([x] * 3, axis=1) for x in (key, value)]
    past = Past(*(np.einsum("bnkhd->bnhkd", x) for x in by_hypothesis))
    for output in (
        plain,
        fused_attention(query, key, value, None, "none"),
        attention_to_memory(query, memory, everywhere, "none"),
        attention_to_past(query, past, 10, "none"),
    ):
        np.testing.assert_allclose(output, expected, atol=1e-5)


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
@pytest.mark.parametrize("projections", ["joint", "apart"])
def test_multi_head_attention_follows_the_paper(use_bias, projections):
    module, params, given, mask = _multi_head(
        use_bias=use_bias, projections=projections
    )
    expected, _ = reference.multi_head_attention(
        params["params"], given["x"], given["memory"], mask
    )
    np.testing.assert_allclose(module.apply(params, **given), expected, atol=1e-5)


@pytest.mark.parametrize("use_bias", [False, True])
@pytest.mark.parametrize("projections", ["joint", "apart"])
def test_self_attention_follows_the_paper(use_bias, projections):
    module, params, given, _ = _multi_head(use_bias=use_bias, projections=projections)
    x, segments = given["memory"], given["visible"].key_segments
    visible = Visibility(segments, segments, is_causal=True)
    expected, _ = reference.multi_head_attention(
        params["params"], x, x, np.asarray(visible.mask())
    )
    np.testing.assert_allclose(module.apply(params, x, visible), expected, atol=1e-5)


def test_weights_are_sown_only_on_request():
    module, params, given, mask = _multi_head()
    output, state = module.apply(params, **given, mutable="intermediates")
    (weights,) = state["intermediates"]["attention_weights"]
    _, expected = reference.multi_head_attention(
        params["params"], given["x"], given["memory"], mask
    )
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    plain, state = module.apply(params, **given, mutable=["other"])
    assert not state
    np.testing.assert_array_equal(plain, output)


def test_fused_attention_is_the_plain_one_and_zero_where_nothing_is_visible():
    plain, params, given, mask = _multi_head(d_v=4, implementation="plain")
    fused = MultiHeadAttention(12, 3, d_k=4, d_v=4, implementation="fused")
    kernel = params["params"]["output"]["kernel"]
    assert not mask[1, 0, 4].any()

    def total(x, module):
        output = module.apply(params, **given | {"x": x})
        return jnp.sum(output * kernel[0, 0, 0]), output

    of_both = [
        jax.value_and_grad(total, has_aux=True)(given["x"], module)
        for module in (plain, fused)
    ]
    ((_, one), of_x), ((_, other), of_other_x) = of_both
    np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(of_x, of_other_x, atol=1e-5)
    assert not np.any(np.asarray(other)[1, 4])
    assert not np.any(np.asarray(of_other_x)[1, 4])


def test_fused_attention_makes_no_weights_but_shows_them_on_request():
    module, params, given, _ = _multi_head(d_v=4, implementation="fused")
    _, state = module.apply(params, **given, mutable="intermediates")
    (weights,) = state["intermediates"]["attention_weights"]
    assert weights.shape == (2, 3, 5, 11)


def test_the_kernel_of_xla_follows_the_equation():
    query, key, value = _inputs()
    value = value[..., :7]
    mask = np.random.default_rng(1).random((2, 1, 3, 11)) < 0.5
    mask[0, 0, 1] = False
    expected, _ = reference.attention(query, key, value, mask)
    output = fused_attention(query, key, value, mask)
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_projections_start_glorot_uniform_each_with_its_own_fans():
    module = MultiHeadAttention(48, 3, d_k=32, d_v=20)
    x, segments = jnp.zeros((1, 1, 48)), np.ones((1, 1), int)
    visible = Visibility(segments, segments)
    params = module.init(jax.random.key(0), x, visible)["params"]
    fans = {"query": (48, 96), "key": (48, 96), "value": (48, 60), "output": (60, 48)}
    for name, (fan_in, fan_out) in fans.items():
        kernel = np.asarray(params[name]["kernel"].unbox())
        limit = np.sqrt(6 / (fan_in + fan_out))
        assert 0.98 * limit < np.abs(kernel).max() <= limit
        np.testing.assert_allclose(kernel.std(), limit / np.sqrt(3), rtol=0.05)
