"""Lengths of made-up corpora: tokens of each pair's source and target."""

import numpy as np


def random_lengths(count):
    """Return [pairs] lengths of either side, the target up to 8 tokens longer."""
    rng = np.random.default_rng(count)
    source = rng.integers(1, 40, count)
    return source, source + rng.integers(0, 9, count)


COMMON_CORPORA = {
    "one pair": (np.array([5]), np.array([6])),
    "fewer pairs than rows": random_lengths(3),
    "all equal": (np.full(1000, 9), np.full(1000, 4)),
    "one giant": (np.array([9] * 300 + [5000]), np.array([9] * 301)),
    "hundreds": random_lengths(701),
    "thousands": random_lengths(5003),
}
