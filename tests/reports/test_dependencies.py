import itertools

import jax
import jax.numpy as jnp

from transformer_jax.reports.dependencies import longest_chain, longest_path


def test_the_longest_chain_is_the_depth_of_the_program():
    def function(x):
        side = x * 2  # noqa: F841 (one operation that nothing follows)
        return jnp.negative(jnp.negative(jnp.negative(x)))

    assert longest_chain(function, jnp.ones(3)) == 3


def test_a_scan_counts_once_for_each_iteration():
    def function(x):
        return jax.lax.scan(
            lambda carry, _: (jnp.negative(jnp.sin(carry)), None), x, length=7
        )[0]

    assert longest_chain(function, jnp.float32(1)) == 14


def test_the_path_of_a_full_layer_is_one():
    assert _path(lambda x: x + x.sum(axis=0, keepdims=True), 5) == 1


def test_the_path_of_neighbours_grows_with_the_length():
    def neighbours(x):
        return (
            x + jnp.roll(x, 1, axis=0).at[0].set(0) + jnp.roll(x, -1, 0).at[-1].set(0)
        )

    assert _path(neighbours, 5) == 4
    assert _path(neighbours, 8) == 7


def test_positions_that_never_meet_have_no_path():
    assert _path(lambda x: 2 * x, 3) is None


def test_the_path_through_growing_distances_grows_with_the_logarithm():
    layers = [lambda x, d=2**i: x + jnp.roll(x, d, axis=0) for i in range(9)]
    # 1 + 2 + 4 + ... reach 15 positions in four layers, 16 in five.
    assert longest_path(layers, _rows(16)) == 4
    assert longest_path(layers, _rows(17)) == 5


def _path(layer, length):
    return longest_path(itertools.repeat(layer), _rows(length))


def _rows(length):
    return jax.random.normal(jax.random.key(0), (length, 2))
