"""Sums that become means: over the steps of a report, or over a whole set of text.

An objective names what it sums. A `Ratio` is divided by its weight in the end, once; a
plain number is a count, and stays a sum. So no mean of means can creep in.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax

from transformer_jax.errors import UserError

# Sums wait on the device in groups, so that fetching one never stalls the next batch.
_BATCHES_IN_FLIGHT = 16


class Ratio(NamedTuple):
    """A sum to be divided by another: both float scalars.

    Attributes:
      total: what is summed.
      weight: over how much, such as the number of target tokens.
    """

    total: Any
    weight: Any


MetricSums = Mapping[str, Any]
EvalStep = Callable[[Any, Any], MetricSums]


def divide(sums: MetricSums) -> dict[str, float]:
    """Return each ratio as a mean and each count as it is; a mean over nothing is NaN.

    Where there is a mean negative log-likelihood, `nll`, its perplexity comes with it.
    """
    means = {}
    for name, value in sums.items():
        if isinstance(value, Ratio):
            means[name] = value.total / value.weight if value.weight else math.nan
            if name == "nll":
                means["perplexity"] = perplexity(means[name])
        else:
            means[name] = value
    return means


def mean_metrics(
    params: Any, batches: Iterable[Any], eval_step: EvalStep
) -> dict[str, float]:
    """Return the means and counts of an objective's sums over all batches.

    Sums are added before anything is divided, in double precision: a mean of the
    batches' means would weigh tokens of short batches more.

    Args:
      params: parameters, handed to `eval_step` as they are.
      batches: every text once; rows without loss weight add nothing.
      eval_step: (params, batch) → sums, `loss` among them; dropout is off inside it.

    Raises:
      UserError: if nothing in the batches carries a loss.
    """
    totals: Any = None
    waiting: list[MetricSums] = []
    for batch in batches:
        waiting.append(eval_step(params, batch))
        if len(waiting) == _BATCHES_IN_FLIGHT:
            totals, waiting = _add(totals, waiting), []
    totals = _add(totals, waiting)
    if totals is None or totals["loss"].weight == 0:
        raise UserError(
            "The set to evaluate holds no token to predict. Give at least one text "
            "without an empty side."
        )
    return divide(totals)


def perplexity(nll: float) -> float:
    """Return exp of the mean negative log-likelihood; infinite where it overflows."""
    try:
        return math.exp(nll)
    except OverflowError:
        return math.inf


def _add(totals: Any, waiting: list[MetricSums]) -> Any:
    """Fetch sums from the device and add them up as Python's floats."""
    for sums in jax.device_get(waiting):
        sums = jax.tree.map(float, sums)
        if totals is None:
            totals = sums
        else:
            totals = jax.tree.map(lambda total, new: total + new, totals, sums)
    return totals
