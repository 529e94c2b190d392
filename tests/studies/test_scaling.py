"""What the study of scaling measures, on attentions that are drawn at random."""

import pytest

from transformer_jax.studies import scaling
from transformer_jax.studies.bench import Bench


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    sizes = scaling.Sizes(
        depths=(1, 16, 256), num_keys=16, num_queries=512, trained_depths=(), seeds=(3,)
    )
    found = scaling.measure(sizes, Bench(tmp_path_factory.mktemp("runs")))
    return {(row["d_k"], row["scaling"]): row for row in found}


def test_scores_have_the_variance_of_theory(rows):
    for d_k in (1, 16, 256):
        assert rows[d_k, "none"]["variance"] == pytest.approx(d_k, rel=0.15)
        assert rows[d_k, "sqrt_d_k"]["variance"] == pytest.approx(1, rel=0.15)


def test_without_scaling_the_softmax_hardens_and_its_gradient_vanishes(rows):
    hard, soft = rows[256, "none"], rows[256, "sqrt_d_k"]
    assert soft["entropy"] == pytest.approx(rows[16, "sqrt_d_k"]["entropy"], rel=0.05)
    assert hard["entropy"] < 0.3 < 2.0 < soft["entropy"]
    assert hard["largest_weight"] > 0.9 > soft["largest_weight"]
    for name in ("jacobian_norm", "query_gradient_norm"):
        assert hard[name] < rows[16, "none"][name] / 5 < soft[name]


def test_of_depth_1_both_are_the_same(rows):
    one, other = rows[1, "none"], rows[1, "sqrt_d_k"]
    assert one | {"scaling": ""} == other | {"scaling": ""}


def test_the_table_has_means_over_seeds_and_their_spread():
    drawn = {"variance": 4.0, "entropy": 2.0, "jacobian_norm": 1e-3}
    drawn |= {"query_gradient_norm": 1e-2}
    rows = [
        {"d_k": 4, "scaling": name, "seed": seed, **found}
        for name in scaling.SCALINGS
        for seed in (0, 1)
        for found in (
            drawn,
            {"step": 5, "train_loss": 4.0, "validation_loss": None},
            {"step": 9, "train_loss": None, "validation_loss": 3.0 + seed},
        )
    ]
    report = scaling.tabulate(rows)
    assert report.parts[0].rows[0]["variance_none"] == 4.0
    assert report.parts[2].rows == [
        {
            "d_k": 4,
            "validation_loss_sqrt_d_k": 3.5,
            "validation_loss_none": 3.5,
            "spread_sqrt_d_k": "3.00 to 4.00",
            "spread_none": "3.00 to 4.00",
        }
    ]
