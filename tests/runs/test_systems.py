"""Every system does what a run does: goes on bit for bit, translates, scores, draws."""

import jax
import numpy as np
import pytest

from tests.tiny_run import MODEL_SIZES, SPLITS, tiny_config
from transformer_jax.errors import UserError
from transformer_jax.models import TRANSLATION_MODELS
from transformer_jax.reports import card, cost
from transformer_jax.runs import experiment
from transformer_jax.runs.run_evaluation import evaluate_run
from transformer_jax.runs.trained_run import load_run
from transformer_jax.visualization.attention_maps import collect_attention
from transformer_jax.visualization.plots import plot_attention

# Systems that keep no attention from target to source.
_WITHOUT_ATTENTION = {"recurrent", "dilated"}


def test_every_system_has_sizes_here():
    assert set(MODEL_SIZES) == set(TRANSLATION_MODELS)


@pytest.fixture
def train(text, tmp_path):
    def train(system, workdir, num_steps):
        config = tiny_config(text, num_steps, system)
        # Packed rows are the harder ones: sentences must not see each other.
        config.data.batching = "packed"
        config.evaluation.eval_every_steps = 0
        experiment.train(config, tmp_path / workdir)
        return load_run(tmp_path / workdir, "last")

    return train


@pytest.mark.slow
def test_a_recurrent_run_goes_on_bit_for_bit(train):
    unbroken = train("recurrent_attention", "unbroken", 4)
    train("recurrent_attention", "broken", 2)
    broken = train("recurrent_attention", "broken", 4)
    jax.tree.map(np.testing.assert_array_equal, unbroken.params, broken.params)


@pytest.mark.slow
@pytest.mark.parametrize(
    "system", [name for name in TRANSLATION_MODELS if name != "transformer"]
)
def test_a_system_does_what_a_run_does(system, train):
    run = train(system, "run", 2)
    root = run.directory.root
    (line,) = run.translator(num_best=2).translate(["The dog sleeps."])
    assert len(line.candidates) == 2
    found = evaluate_run(run)
    assert len(found.hypotheses) == found.scores.num_sentences == SPLITS["test"]
    (row,) = cost.report_runs([root]).rows
    assert row["computed_flops"] > 0
    card.write_card(root)
    assert f"| model.name | {system} |" in (root / "README.md").read_text()

    if system in _WITHOUT_ATTENTION:
        with pytest.raises(UserError, match="keeps no"):
            collect_attention(run, "The dog sleeps.")
        return
    maps = collect_attention(run, "The dog sleeps.", "Der Hund")
    weights = maps.weights["cross"]
    assert weights.shape[2:] == (len(maps.written_pieces), len(maps.source_pieces))
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-5)
    assert plot_attention(maps, "cross").axes
