import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models import small
from tests.reference import positions as reference
from transformer_jax.errors import UserError
from transformer_jax.models.positions import (
    LearnedPositions,
    SinusoidalPositions,
    sinusoidal_positions,
)

LAYOUTS = ["interleaved", "halves", "tensor2tensor"]


def test_the_paper_interleaves_sines_and_cosines():
    # d_model 4: wavelengths 1 and 10000^(2/4) = 100.
    table = sinusoidal_positions(3, 4)
    np.testing.assert_allclose(table[0], [0, 1, 0, 1])
    np.testing.assert_allclose(
        table[2], [np.sin(2), np.cos(2), np.sin(0.02), np.cos(0.02)], rtol=1e-6
    )


def test_halves_have_the_same_numbers_sines_first():
    table = sinusoidal_positions(3, 4, "halves")
    np.testing.assert_allclose(table[0], [0, 0, 1, 1])
    np.testing.assert_allclose(
        table[2], [np.sin(2), np.sin(0.02), np.cos(2), np.cos(0.02)], rtol=1e-6
    )


def test_tensor2tensor_reaches_the_longest_wavelength():
    # d_model 6: exponents 0, 1/2, 1 and so divisors 1, 100, 10000.
    table = sinusoidal_positions(3, 6, "tensor2tensor")
    angles = np.array([2, 0.02, 0.0002])
    np.testing.assert_allclose(table[2, :3], np.sin(angles), rtol=1e-6)
    np.testing.assert_allclose(table[2, 3:], np.cos(angles), rtol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sinusoids_follow_the_formula_far_out(layout):
    positions = np.array([[0, 1, 777, 1999]])
    expected = reference.sinusoids(positions, 14, layout)
    table = sinusoidal_positions(2000, 14, layout)
    np.testing.assert_allclose(table[positions], expected, atol=1e-7)


def test_given_positions_choose_the_rows():
    module = SinusoidalPositions(6, "interleaved")
    every = module.apply({}, None, 5)
    assert every.shape == (1, 5, 6)
    chosen = module.apply({}, np.array([[0, 1, 0, 1, 2], [4, 3, 2, 1, 0]]), 5)
    np.testing.assert_array_equal(chosen[0], every[0][np.array([0, 1, 0, 1, 2])])
    np.testing.assert_array_equal(chosen[1], every[0, ::-1])


def test_learned_positions_look_rows_up():
    module = LearnedPositions(3, max_positions=7)
    table = np.arange(21.0).reshape(7, 3)
    params = {"params": {"embedding": table}}
    np.testing.assert_array_equal(module.apply(params, None, 5)[0], table[:5])
    chosen = module.apply(params, np.array([[6, 0]]), 7)
    np.testing.assert_array_equal(chosen[0], table[[6, 0]])


def test_learned_positions_start_as_small_as_the_token_table():
    params = LearnedPositions(64, 100).init(jax.random.key(0), None, 5)["params"]
    np.testing.assert_allclose(jnp.std(params["embedding"].unbox()), 1 / 8, rtol=0.05)


def test_a_row_longer_than_the_learned_table_is_an_error():
    module = LearnedPositions(3, max_positions=7)
    with pytest.raises(UserError, match="8 tokens.*Raise max_positions to 8"):
        module.apply({"params": {"embedding": np.zeros((7, 3))}}, None, 8)


def test_an_odd_width_is_an_error():
    with pytest.raises(ValueError, match="even"):
        sinusoidal_positions(3, 5)


@pytest.fixture(scope="module")
def encoders():
    """Encode [1, length] tokens, by kind of positions."""

    def encoder(kind):
        model, params = small.build(positions=kind, num_encoder_layers=3)

        @jax.jit
        def encode(tokens):
            sentence = {"source_tokens": tokens, "source_segments": tokens * 0 + 1}
            return small.run(model, params, sentence, "encode")

        return encode

    return {kind: encoder(kind) for kind in ("none", "learned", "sinusoidal")}


@settings(max_examples=20, deadline=None)
@given(
    tokens=st.lists(
        st.integers(4, small.VOCAB_SIZE - 1), min_size=7, max_size=7, unique=True
    ),
    order=st.permutations(range(7)),
)
def test_only_positions_make_order_matter(encoders, tokens, order):
    tokens, order = np.array([tokens]), np.array(order)
    for kind, encode in encoders.items():
        expected = encode(tokens)[:, order]
        difference = np.abs(encode(tokens[:, order]) - expected).max()
        if kind == "none" or np.array_equal(order, np.arange(7)):
            assert difference < 1e-5
        else:
            assert difference > 1e-3
