"""Random orders that are the same on any machine and with any version of NumPy."""

import numpy as np

_MASK = (1 << 64) - 1


def random_order(seed: int, stream: int, count: int) -> np.ndarray:
    """Return the numbers from 0 to `count` - 1 in an order of their own.

    Args:
      seed: of all orders together.
      stream: which of them; any whole number of 64 bits.
      count: how many numbers.
    """
    return np.argsort(_random_keys(seed, stream, count), kind="stable")


def _random_keys(seed: int, stream: int, count: int) -> np.ndarray:
    """Return `count` random uint64 (splitmix64)."""
    start = np.uint64(_mix_int(_mix_int(seed & _MASK) ^ (stream & _MASK)))
    x = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + start
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _mix_int(x: int) -> int:
    """The same mixing for one Python integer below 2^64."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)
