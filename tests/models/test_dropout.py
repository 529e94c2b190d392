import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from transformer_jax.models.dropout import (
    Dropout,
    DropoutBits,
    dropout_bits,
    random_bits,
)

NUM_ROWS, LENGTH, WIDTH = 8, 50, 256


class _Two(nn.Module):
    """Two sites, to compare them."""

    rate: float

    @nn.compact
    def __call__(self, x, bits):
        first = Dropout(self.rate, name="first")(x, bits)
        return first, Dropout(self.rate, name="second")(x, bits)


def _bits(step=0, num_rows=NUM_ROWS, first_row=0):
    rng = jax.random.fold_in(jax.random.key(0), step)
    return dropout_bits(rng, num_rows, first_row)


def _kept(rate, bits, shape=(NUM_ROWS, LENGTH, WIDTH)):
    return np.asarray(Dropout(rate).apply({}, np.ones(shape, np.float32), bits)) != 0


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.9])
def test_the_share_of_dropped_elements_is_the_rate(rate):
    kept = _kept(rate, _bits())
    deviation = np.sqrt(rate * (1 - rate) / kept.size)
    assert abs(kept.mean() - (1 - rate)) < 5 * deviation
    per_row = kept.mean(axis=(1, 2))
    per_column = kept.mean(axis=(0, 1))
    assert np.all(abs(per_row - (1 - rate)) < 5 * deviation * np.sqrt(NUM_ROWS))
    assert np.all(abs(per_column - (1 - rate)) < 5 * deviation * np.sqrt(WIDTH))


def test_what_is_kept_is_scaled_up():
    output = np.asarray(
        Dropout(0.2).apply({}, 2 * np.ones((3, 5, 7)), _bits(num_rows=3))
    )
    np.testing.assert_allclose(output[output != 0], 2.5, rtol=1e-6)


def test_without_randomness_or_rate_nothing_changes():
    x = np.random.default_rng(0).standard_normal((3, 5))
    assert Dropout(0.5).apply({}, x, None) is x
    assert Dropout(0.0).apply({}, x, _bits(num_rows=3)) is x


def test_the_same_bits_drop_the_same_elements():
    np.testing.assert_array_equal(_kept(0.5, _bits(3)), _kept(0.5, _bits(3)))


def _assert_independent(first, second):
    """Two sets of fair coins agree half of the time, to five deviations."""
    assert abs((first == second).mean() - 0.5) < 2.5 / np.sqrt(first.size)


def test_steps_sites_rows_and_neighbours_are_independent():
    x = np.ones((NUM_ROWS, LENGTH, WIDTH), np.float32)
    first, second = (np.asarray(y) != 0 for y in _Two(0.5).apply({}, x, _bits()))
    _assert_independent(first, second)
    kept = _kept(0.5, _bits())
    for step in (1, 2, 1000):
        _assert_independent(kept, _kept(0.5, _bits(step)))
    for distance in (1, 2, 5):
        _assert_independent(kept[distance:], kept[:-distance])
        _assert_independent(kept[:, distance:], kept[:, :-distance])
        _assert_independent(kept[:, :, distance:], kept[:, :, :-distance])


def test_consecutive_seeds_rows_and_sites_give_independent_bits():
    shape = (4, 64, 64)

    def bits(seed, row, site):
        rows = jnp.arange(row, row + 4, dtype=jnp.uint32)
        return np.asarray(random_bits(DropoutBits(jnp.uint32(seed), rows), site, shape))

    base = bits(0, 0, 0)
    for other in (bits(1, 0, 0), bits(0, 4, 0), bits(0, 0, 1), bits(1, 4, 1)):
        for place in range(32):
            _assert_independent((base >> place) & 1, (other >> place) & 1)


def test_no_row_is_a_shifted_copy_of_another():
    rows = np.asarray(random_bits(_bits(num_rows=64), 5, (64, 4096)))
    assert len(np.unique(rows)) > rows.size * 0.9999


def test_sums_over_blocks_spread_as_much_as_chance_has_it():
    kept = _kept(0.5, _bits(num_rows=64), (64, 64, 64)).reshape(-1, 64)
    np.testing.assert_allclose(kept.sum(axis=1).var(), 16.0, rtol=0.1)


def test_slices_of_the_batch_drop_what_the_whole_batch_drops():
    whole = _kept(0.3, _bits())
    bits = _bits()
    for start in (0, 3):
        rows = slice(start, start + 4)
        sliced = DropoutBits(bits.seed, bits.rows[rows])
        shape = (4, LENGTH, WIDTH)
        np.testing.assert_array_equal(_kept(0.3, sliced, shape), whole[rows])
        first_row = _bits(num_rows=4, first_row=start)
        np.testing.assert_array_equal(_kept(0.3, first_row, shape), whole[rows])


def test_longer_rows_keep_the_bits_of_shorter_ones():
    longer = _kept(0.3, _bits(), (NUM_ROWS, 2 * LENGTH, WIDTH))
    np.testing.assert_array_equal(longer[:, :LENGTH], _kept(0.3, _bits()))


def test_devices_change_nothing():
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    sharding = NamedSharding(mesh, PartitionSpec("data", None, "model"))
    x = jax.device_put(np.ones((NUM_ROWS, LENGTH, WIDTH), np.float32), sharding)
    output = jax.jit(lambda x, bits: Dropout(0.3).apply({}, x, bits))(x, _bits())
    np.testing.assert_array_equal(np.asarray(output) != 0, _kept(0.3, _bits()))


def test_the_gradient_passes_where_the_value_does():
    x = np.random.default_rng(0).standard_normal((3, 5, 7)).astype(np.float32)
    bits = _bits(num_rows=3)
    grad = jax.grad(lambda x: Dropout(0.5).apply({}, x, bits).sum())(x)
    np.testing.assert_array_equal(grad, 2.0 * _kept(0.5, bits, x.shape))


def test_rows_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match="one row number for each row"):
        Dropout(0.5).apply({}, np.ones((3, 5)), _bits(num_rows=4))
