"""Loss, perplexity and accuracy of a model over a whole set of sentence pairs."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax

from transformer_jax.data.batch import Batch
from transformer_jax.errors import UserError

EvalStep = Callable[[Any, Batch], Mapping[str, jax.Array]]

_SUMS = ("loss", "nll", "correct", "target_tokens")
# Sums wait on the device in groups, so that fetching one never stalls the next batch.
_BATCHES_IN_FLIGHT = 16


def evaluate_loss(
    params: Any, batches: Iterable[Batch], eval_step: EvalStep
) -> dict[str, float]:
    """Return means per target token over all batches, each token counting once.

    Sums are added before anything is divided, in double precision: a mean of the
    batches' means would weigh tokens of short batches more.

    Args:
      params: parameters, handed to `eval_step` as they are.
      batches: every pair once; rows without loss weight add nothing.
      eval_step: (params, batch) → sums under the names loss, nll, correct and
        target_tokens; dropout is off inside it.

    Returns:
      loss: label-smoothed, as in training.
      nll: negative log-likelihood in nats, without smoothing.
      perplexity: exp(nll), per word piece as in Table 3; depends on the vocabulary.
      accuracy: share of target tokens that are the most likely, given those before.
      target_tokens: how many tokens the means are over, EOS included.

    Raises:
      UserError: if the batches hold no target token.
    """
    totals = dict.fromkeys(_SUMS, 0.0)
    waiting: list[dict[str, jax.Array]] = []
    for batch in batches:
        sums = eval_step(params, batch)
        waiting.append({name: sums[name] for name in _SUMS})
        if len(waiting) == _BATCHES_IN_FLIGHT:
            _add(totals, waiting)
            waiting = []
    _add(totals, waiting)
    num_tokens = totals["target_tokens"]
    if num_tokens == 0:
        raise UserError(
            "The set to evaluate holds no target token. Give at least one sentence "
            "pair whose two sides are not empty."
        )
    nll = totals["nll"] / num_tokens
    return {
        "loss": totals["loss"] / num_tokens,
        "nll": nll,
        "perplexity": perplexity(nll),
        "accuracy": totals["correct"] / num_tokens,
        "target_tokens": num_tokens,
    }


def perplexity(nll: float) -> float:
    """Return exp of the mean negative log-likelihood; infinite where it overflows."""
    try:
        return math.exp(nll)
    except OverflowError:
        return math.inf


def _add(totals: dict[str, float], waiting: list[dict[str, jax.Array]]) -> None:
    """Fetch sums from the device and add them to the totals in place."""
    for sums in jax.device_get(waiting):
        for name, value in sums.items():
            totals[name] += float(value)
