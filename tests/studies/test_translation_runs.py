"""The studies that compare runs of several systems, in their small form."""

import json

import numpy as np
import pytest

from transformer_jax.errors import UserError
from transformer_jax.studies import bottleneck, quality
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.translation_runs import TranslationRuns, open_runs


def _row(system, seed, hours, score, **more):
    return {
        "system": system,
        "seed": seed,
        "num_params": 7,
        "step": 100,
        "hours": hours,
        "flops": hours * 1e9,
        "validation_sacrebleu": score,
        "test_sacrebleu": 20.0 + seed,
        "device": "one",
    } | more


def test_a_run_that_is_missing_is_told_with_the_command_that_trains_it(tmp_path):
    runs = TranslationRuns({"recurrent": "multi30k_recurrent"}, seeds=(3,))
    with pytest.raises(UserError, match="multi30k_recurrent.py.*seed=3") as error:
        list(open_runs(runs, Bench(tmp_path)))
    assert "--workdir RUNS/multi30k_recurrent_3" in str(error.value)
    # Without --workdirs this folder is removed again.
    assert str(tmp_path) not in str(error.value)


def test_equal_quality_is_what_all_reach_and_found_between_validations():
    rows = [
        _row("slow", 0, 1.0, 10.0),
        _row("slow", 0, 2.0, 20.5),
        _row("fast", 0, 1.0, 40.0),
        _row("fast", 1, 1.0, 20.0),
        _row("fast", 1, 2.0, 30.0),
    ]
    (part,) = quality.STUDY.tabulate(rows).parts
    slow, fast = part.rows
    # To 20 points: 1 + 10 / 10.5 hours; half an hour, and a whole one.
    assert slow["hours_to_level"] == pytest.approx(1 + 10 / 10.5)
    assert fast["hours_to_level"] == pytest.approx(0.75)
    assert fast["flops_to_level"] == pytest.approx(0.75e9)
    assert fast["validation_sacrebleu"] == 35.0
    assert fast["test_sacrebleu"] == 20.5


def test_the_picture_names_a_system_once_however_many_seeds_it_has():
    rows = [_row(name, seed, 1.0, 9.0) for name in ("slow", "fast") for seed in (3, 5)]
    labels = quality.STUDY.draw(rows).axes[0].get_legend_handles_labels()[1]
    assert labels == ["slow", "fast"]


def test_sentences_of_one_length_share_a_group():
    lengths = np.array([3, 9, 3, 3, 3, 5, 7, 3])
    groups = bottleneck._groups_of_like_length(lengths, 3)
    assert [sorted(lengths[group]) for group in groups] == [[3] * 5, [5, 7, 9]]
    assert sorted(np.concatenate(groups)) == list(range(8))


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Both studies read the same runs."""
    return Bench(tmp_path_factory.mktemp("runs"))


@pytest.mark.slow
@pytest.mark.parametrize("study", [bottleneck.STUDY, quality.STUDY])
def test_its_small_form_measures_every_system(study, bench):
    sizes = study.sizes["small"]
    rows = study.measure(sizes, bench)
    assert {row["system"] for row in rows} == set(sizes.configs)
    assert json.loads(json.dumps(rows)) == rows
    assert study.tabulate(rows).rows
    assert study.draw(rows).axes
