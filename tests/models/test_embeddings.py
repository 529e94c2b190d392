import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.models.embeddings import TokenEmbedding, mask_padded_vocabulary

# Three pieces of width 4, so lookups are doubled.
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
PARAMS = {"params": {"embedding": TABLE}}


def _lookup(params, tokens, is_real=None):
    return TokenEmbedding(3, 4).apply(params, tokens, is_real, method="lookup")


def test_lookup_scales_by_the_root_of_the_width():
    vectors = _lookup(PARAMS, np.array([[2, 0]]))
    np.testing.assert_array_equal(vectors, 2 * TABLE[None, [2, 0]])


def test_logits_use_the_unscaled_table():
    x = np.random.default_rng(0).standard_normal((2, 5, 4), dtype=np.float32)
    logits = TokenEmbedding(3, 4).apply(PARAMS, x, method="logits")
    np.testing.assert_allclose(logits, x @ TABLE.T, rtol=1e-5)


def test_padding_is_zero_and_adds_nothing_to_the_gradient():
    tokens = np.array([[1, 2, 1]])
    is_real = np.array([[True, False, True]])
    assert np.all(np.asarray(_lookup(PARAMS, tokens, is_real))[0, 1] == 0)
    grad = jax.grad(lambda params: _lookup(params, tokens, is_real).sum())(PARAMS)
    expected = np.array([[0] * 4, [4] * 4, [0] * 4])
    np.testing.assert_array_equal(grad["params"]["embedding"], expected)


def test_a_tied_pad_row_gets_the_softmaxs_gradient_and_none_from_the_lookup():
    # Equal logits give each of three pieces a third. The loss moves row i of the table
    # by (1/3 - [i is the truth]) x at the position; a lookup of piece 1, not of the
    # padding behind it, adds twice its own weight, for d = 4.
    params = {"params": {"embedding": np.zeros((3, 4), np.float32)}}
    module = TokenEmbedding(3, 4)
    x = np.array([[[3.0, 6.0, 9.0, 12.0]]], np.float32)
    tokens, is_real = np.array([[1, 0, 0]]), np.array([[True, False, False]])

    def loss(params):
        logits = module.apply(params, x, method="logits")
        looked_up = module.apply(params, tokens, is_real, method="lookup")
        return looked_up.sum() - jax.nn.log_softmax(logits)[0, 0, 2]

    grad = jax.grad(loss)(params)["params"]["embedding"]
    expected = [[1, 2, 3, 4], [3, 4, 5, 6], [-2, -4, -6, -8]]
    np.testing.assert_allclose(grad, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("method", "dtype"), [("logits", jnp.bfloat16), ("precise_logits", jnp.float32)]
)
def test_a_search_alone_gets_logits_that_are_not_rounded(method, dtype):
    # 1 + 256 * 2^-9 is 1.5; 257 needs nine bits, one more than bfloat16 has.
    table = {"params": {"embedding": jnp.array([[1.0, 2**-9], [1.0, 1.0]])}}
    x = jnp.array([[[1.0, 256.0]]], jnp.bfloat16)
    logits = TokenEmbedding(2, 2, jnp.bfloat16).apply(table, x, method=method)
    assert logits.dtype == dtype
    rounded = 256 if dtype == jnp.bfloat16 else 257
    np.testing.assert_array_equal(logits[0, 0], [1.5, rounded])


def test_padding_rows_of_the_vocabulary_cannot_win():
    logits = np.zeros((2, 3, 8), np.float32)
    masked = np.asarray(mask_padded_vocabulary(logits, 5))
    assert np.all(masked[..., :5] == 0)
    assert np.all(masked[..., 5:] == np.finfo(np.float32).min)
    probabilities = jax.nn.softmax(masked)
    np.testing.assert_allclose(probabilities[..., :5], 0.2, rtol=1e-6)
    assert np.all(np.asarray(probabilities)[..., 5:] == 0)


def test_the_table_starts_with_variance_one_over_its_width():
    tokens = np.zeros((1, 1), int)
    module = TokenEmbedding(500, 64)
    params = module.init(jax.random.key(0), tokens, method="lookup")["params"]
    table = np.asarray(params["embedding"].unbox())
    np.testing.assert_allclose(table.std(), 1 / 8, rtol=0.02)
