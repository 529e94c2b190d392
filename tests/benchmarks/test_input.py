import numpy as np

from benchmarks.input import draw_lengths, exact_batches, exact_share


def test_exact_batches_hold_every_pair_once_within_the_limit():
    lengths = draw_lengths(500, 64)
    batches = exact_batches(lengths, 300)
    np.testing.assert_array_equal(np.sort(np.concatenate(batches)), np.arange(500))
    assert all(len(pairs) * (lengths[:, pairs].max() + 1) <= 300 for pairs in batches)


def test_the_share_of_real_tokens_is_counted_with_eos():
    lengths = np.array([[1, 3, 2], [2, 2, 5]])
    batches = [np.array([0, 1]), np.array([2])]
    # Source: 2 + 4 of 2 x 4, 3 of 3; target: 3 + 3 of 2 x 3, 6 of 6.
    assert exact_share(lengths, batches) == (9 / 11, 1.0)


def test_drawn_lengths_are_like_wmts():
    source, target = draw_lengths(20_000, 256)
    assert 28 < source.mean() < 31 and 29 < target.mean() < 33
    assert source.min() >= 1 and target.max() <= 255
