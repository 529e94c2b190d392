import numpy as np
import pytest

from transformer_jax.data.row_patterns import RowPattern, pack_rows


def test_pairs_that_fill_a_row_together_share_it():
    """7 + 3, 3 times; then 5 + 5, twice; the 2 that are left over fit twelve a row."""
    positions = np.array([[2, 2], [3, 3], [5, 5], [7, 7]])
    (patterns,) = pack_rows(positions, np.array([7, 3, 4, 3]), [(10, 10)])
    assert patterns == [
        RowPattern([3, 1], 3),
        RowPattern([2, 2], 2),
        RowPattern([0, 0, 0, 0, 0], 1),
        RowPattern([0, 0], 1),
    ]


def test_both_sides_are_looked_at():
    """A long source goes with a short one, whatever the targets' sum would allow."""
    positions = np.array([[2, 4], [4, 2], [3, 3], [4, 4]])
    (patterns,) = pack_rows(positions, np.array([1, 1, 2, 0]), [(6, 6)])
    assert patterns == [RowPattern([0, 1], 1), RowPattern([2, 2], 1)]


def test_long_pairs_begin_long_rows_and_short_ones_fill_them():
    positions = np.array([[3, 2], [5, 6], [11, 4], [7, 13]])
    counts = np.array([5, 1, 1, 1])
    short, middle, long = pack_rows(positions, counts, [(5, 6), (11, 7), (12, 13)])
    assert long == [RowPattern([3], 1)]
    assert middle == [RowPattern([2], 1)]
    assert short == [RowPattern([1], 1), RowPattern([0], 5)]


@pytest.mark.parametrize("bounds", [[(31, 37)], [(16, 19), (31, 37)]])
def test_nothing_is_lost_or_doubled_and_no_row_overflows(bounds):
    rng = np.random.default_rng(0)
    positions = rng.integers(1, [31, 37], (200, 2), endpoint=True)
    counts = rng.integers(0, 50, 200)
    before = counts.copy()
    packed = np.zeros_like(counts)
    found = pack_rows(positions, counts, bounds)
    for bound, patterns in zip(bounds, found, strict=True):
        for kinds, num_rows in patterns:
            assert num_rows >= 1
            assert (positions[kinds].sum(axis=0) <= bound).all()
            np.add.at(packed, kinds, num_rows)
    np.testing.assert_array_equal(packed, before)
    np.testing.assert_array_equal(counts, before)


def test_parts_that_add_up_to_a_whole_row_fit_whatever_their_rounding():
    for length in range(3, 300):
        positions = np.array([[1, 1]])
        (patterns,) = pack_rows(positions, np.array([length]), [(length, length)])
        assert patterns == [RowPattern([0] * length, 1)]
