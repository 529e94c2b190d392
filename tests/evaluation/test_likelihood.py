"""Means over a set are sums divided once."""

import math

import jax.numpy as jnp
import pytest

from transformer_jax.errors import UserError
from transformer_jax.evaluation import likelihood


def _step(params, batch):
    loss, nll, correct, tokens = batch
    return {
        "loss": jnp.float32(loss * params),
        "nll": jnp.float32(nll * params),
        "correct": jnp.int32(correct),
        "target_tokens": jnp.float32(tokens),
        "positions": jnp.float32(99),
    }


def test_unequal_batches_count_by_their_tokens():
    means = likelihood.evaluate_loss(1, [(9, 6, 2, 3), (1, 2, 1, 1)], _step)
    assert means == {
        "loss": 2.5,
        "nll": 2.0,
        "perplexity": pytest.approx(math.exp(2)),
        "accuracy": 0.75,
        "target_tokens": 4.0,
    }


def test_filler_batches_add_nothing_and_every_batch_counts():
    batches = [(3, 2, 1, 2)] * 37 + [(0, 0, 0, 0)]
    means = likelihood.evaluate_loss(1, iter(batches), _step)
    assert means["target_tokens"] == 74
    assert means["loss"] == pytest.approx(1.5)


def test_parameters_reach_the_step():
    assert likelihood.evaluate_loss(3, [(1, 1, 0, 1)], _step)["loss"] == 3


def test_small_sums_are_not_lost_beside_large_ones():
    batches = [(2**25, 2**25, 0, 2**25)] + [(1, 1, 0, 1)] * 3
    assert likelihood.evaluate_loss(1, batches, _step)["target_tokens"] == 2**25 + 3


@pytest.mark.parametrize("batches", [[], [(0, 0, 0, 0)]])
def test_a_set_without_tokens_is_refused(batches):
    with pytest.raises(UserError, match="no target token"):
        likelihood.evaluate_loss(1, batches, _step)


def test_a_diverged_model_has_infinite_perplexity():
    assert likelihood.perplexity(1e4) == math.inf
    assert math.isnan(likelihood.perplexity(math.nan))
