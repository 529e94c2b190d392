import math

import jax.numpy as jnp

from transformer_jax.evaluation.means import Ratio
from transformer_jax.training.metrics import MetricWindow, report_means

SUMS = {
    "loss": Ratio(9.0, 3.0),
    "nll": Ratio(6.0, 3.0),
    "accuracy": Ratio(1.0, 3.0),
    "source_tokens": 5.0,
    "target_tokens": 3.0,
    "gradient_norm": Ratio(4.0, 2.0),
    "skipped": 1.0,
}


def step_sums(loss=0.0, skipped=0.0):
    return {
        "loss": Ratio(jnp.float32(loss), jnp.float32(2.0)),
        "skipped": jnp.float32(skipped),
    }


def test_means_are_those_worked_out_by_hand():
    assert report_means(SUMS, seconds=2.0) == {
        "loss": 3.0,
        "nll": 2.0,
        "perplexity": math.exp(2.0),
        "accuracy": 1 / 3,
        "source_tokens_per_second": 2.5,
        "target_tokens_per_second": 1.5,
        "gradient_norm": 2.0,
        "skipped": 1.0,
        "source_tokens": 5.0,
        "target_tokens": 3.0,
        "seconds": 2.0,
    }


def test_a_mean_over_no_token_is_not_a_number_and_a_huge_perplexity_is_infinite():
    assert math.isnan(report_means({"loss": Ratio(0.0, 0.0)}, 1.0)["loss"])
    assert report_means({"nll": Ratio(3e4, 3.0)}, 1.0)["perplexity"] == math.inf


def test_speeds_leave_out_what_was_waited_for_the_compiler():
    means = report_means(SUMS, seconds=12.0, waited_seconds=10.0)
    assert means["target_tokens_per_second"] == 1.5
    assert (means["seconds"], means["compile_wait_seconds"]) == (12.0, 10.0)


def test_a_window_sums_its_steps_and_starts_anew():
    window = MetricWindow()
    for loss in (1.0, 2.0, 4.0):
        window.add(step_sums(loss))
    assert window.report()["loss"] == Ratio(7.0, 6.0)
    window.add(step_sums(3.0))
    assert window.report()["loss"] == Ratio(3.0, 2.0)


def test_skips_in_a_row_are_counted_across_reports():
    window = MetricWindow()
    for skipped in (1, 1, 0, 1):
        window.add(step_sums(skipped=skipped))
    window.report()
    assert window.longest_skips == 2
    for skipped in (1, 1, 0):
        window.add(step_sums(skipped=skipped))
    window.report()
    assert window.longest_skips == 3
    window.add(step_sums())
    window.report()
    assert window.longest_skips == 0
