"""Means over a set are sums divided once."""

import math

import jax.numpy as jnp
import pytest

from transformer_jax.errors import UserError
from transformer_jax.evaluation import means
from transformer_jax.evaluation.means import Ratio


def _step(params, batch):
    loss, nll, correct, tokens = batch
    weight = jnp.float32(tokens)
    return {
        "loss": Ratio(jnp.float32(loss * params), weight),
        "nll": Ratio(jnp.float32(nll * params), weight),
        "accuracy": Ratio(jnp.int32(correct), weight),
        "target_tokens": weight,
    }


def test_unequal_batches_count_by_their_tokens():
    found = means.mean_metrics(1, [(9, 6, 2, 3), (1, 2, 1, 1)], _step)
    assert found == {
        "loss": 2.5,
        "nll": 2.0,
        "perplexity": pytest.approx(math.exp(2)),
        "accuracy": 0.75,
        "target_tokens": 4.0,
    }


def test_filler_batches_add_nothing_and_every_batch_counts():
    batches = [(3, 2, 1, 2)] * 37 + [(0, 0, 0, 0)]
    found = means.mean_metrics(1, iter(batches), _step)
    assert found["target_tokens"] == 74
    assert found["loss"] == pytest.approx(1.5)


def test_parameters_reach_the_step():
    assert means.mean_metrics(3, [(1, 1, 0, 1)], _step)["loss"] == 3


def test_small_sums_are_not_lost_beside_large_ones():
    batches = [(2**25, 2**25, 0, 2**25)] + [(1, 1, 0, 1)] * 3
    assert means.mean_metrics(1, batches, _step)["target_tokens"] == 2**25 + 3


@pytest.mark.parametrize("batches", [[], [(0, 0, 0, 0)]])
def test_a_set_without_tokens_is_refused(batches):
    with pytest.raises(UserError, match="no token to predict"):
        means.mean_metrics(1, batches, _step)


def test_a_diverged_model_has_infinite_perplexity():
    assert means.perplexity(1e4) == math.inf
    assert math.isnan(means.perplexity(math.nan))
