import jax
import numpy as np
import pytest

from transformer_jax.decoding.top_k import top_k


@pytest.mark.parametrize("length", [1, 5, 63, 64, 65, 640, 1000, 8003])
@pytest.mark.parametrize("k", [1, 4, 5])
@pytest.mark.parametrize("num_distinct", [2, 7, 10**9])
def test_values_and_indices_are_those_of_sorting_everything(length, k, num_distinct):
    rng = np.random.default_rng(length)
    # Few distinct numbers make ties, -inf among them, as masked tokens do.
    values = rng.integers(0, num_distinct, (2, 3, length)).astype(np.float32)
    values[values == 0] = -np.inf
    k = min(k, length)
    found = jax.jit(top_k, static_argnums=1)(values, k)
    expected = jax.lax.top_k(values, k)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_a_row_of_nothing_but_minus_infinity_keeps_the_first_indices():
    values = np.full((1, 1000), -np.inf, np.float32)
    np.testing.assert_array_equal(top_k(values, 4)[1], [[0, 1, 2, 3]])
