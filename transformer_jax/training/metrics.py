"""Sums of steps, kept on the device until a report asks for their means."""

from typing import Any

import jax
import jax.numpy as jnp

from transformer_jax.evaluation.means import MetricSums, divide

# Name of the seconds that steps of a report waited for XLA; not there if they did not.
WAITED = "compile_wait_seconds"


class MetricWindow:
    """Sums over the steps since the last report, added up on the device.

    Attributes:
      longest_skips: the longest run of skipped updates that the last report saw,
        reports before it included.
    """

    def __init__(self) -> None:
        self._sums: MetricSums | None = None
        self._skips = (jnp.float32(0), jnp.float32(0))
        self.longest_skips = 0

    def add(self, sums: MetricSums) -> None:
        """Add one step's sums; nothing is fetched and nothing waits."""
        if self._sums is None:
            self._sums = jax.tree.map(jnp.zeros_like, sums)
        self._sums, self._skips = _add_step(self._sums, self._skips, sums)

    def report(self) -> dict[str, Any]:
        """Fetch the sums, which waits for the last step, and start anew."""
        sums, (current, longest) = jax.device_get((self._sums or {}, self._skips))
        self._sums = None
        self._skips = (current, current)
        self.longest_skips = int(longest)
        return jax.tree.map(float, sums)


@jax.jit
def _add_step(
    total: MetricSums, skips: tuple[jax.Array, jax.Array], sums: MetricSums
) -> tuple[MetricSums, tuple[jax.Array, jax.Array]]:
    current = jnp.where(sums["skipped"] > 0, skips[0] + 1, 0.0)
    longest = jnp.maximum(skips[1], current)
    return jax.tree.map(jnp.add, total, sums), (current, longest)


def report_means(
    sums: MetricSums, seconds: float, waited_seconds: float = 0.0
) -> dict[str, float]:
    """Turn the sums of some steps into a report.

    Args:
      sums: as the objective and the train step name them.
      seconds: how long these steps took.
      waited_seconds: how much of it they waited for XLA to compile them.

    Returns:
      Means and counts as `divide` gives them; for each count of tokens that the
      objective names also so many a second, waiting left out; and seconds. Counts and
      seconds are there so that reports can be added up.
    """
    values, busy_seconds = divide(sums), seconds - waited_seconds
    speeds = {
        f"{name}_per_second": values[name] / busy_seconds
        if busy_seconds
        else float("nan")
        for name in values
        if name.endswith("tokens")
    }
    waited = {WAITED: waited_seconds} if waited_seconds else {}
    return values | speeds | {"seconds": seconds} | waited
