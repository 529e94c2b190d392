"""The study of long dependencies: what is equal, what is counted, what it writes."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.grammar.distances import PRONOUNS, distant_pairs
from transformer_jax.models import MODELS
from transformer_jax.models.parameters import count_params, param_shapes
from transformer_jax.runs.components import build_model
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.long_dependencies import (
    STUDY,
    find_right_ones,
    make_config,
)

FULL, SMALL = STUDY.sizes["full"], STUDY.sizes["small"]


def test_every_system_is_compared_at_equal_parameters():
    assert set(FULL.systems) == set(MODELS)
    sizes = []
    for system in FULL.systems:
        config = make_config(FULL, system, seed=0)
        vocab_size = config.data.vocab_size
        model = build_model(config, vocab_size, vocab_size)
        sizes.append(count_params(param_shapes(model)))
    assert max(sizes) / min(sizes) < 1.05


def test_systems_are_trained_alike_but_for_the_model():
    configs = [make_config(FULL, system, seed=3).to_dict() for system in FULL.systems]
    for config in configs:
        assert config.pop("model")["dropout_rate"] == 0
        assert config == configs[0]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    bench = Bench(tmp_path_factory.mktemp("runs"))
    rows = STUDY.measure(SMALL, bench)
    return rows, bench.train("transformer_0", make_config(SMALL, "transformer", 0))


def test_a_row_for_each_distance_is_tabulated_and_drawn(measured):
    rows, _ = measured
    assert [(row["seed"], row["distance"]) for row in rows] == [
        (seed, distance) for seed in SMALL.seeds for distance in range(2, 10)
    ]
    assert json.loads(json.dumps(rows)) == rows
    report = STUDY.tabulate(rows)
    (row,) = report.rows
    assert row["system"] == "transformer"
    assert [c.name for c in report.parts[0].columns[3:]] == ["2–3", "4–5", "6–7", "8–9"]
    assert STUDY.draw(rows).axes


def test_the_most_probable_pronoun_after_the_true_words_counts(measured):
    _, run = measured
    pairs = list(distant_pairs("test", 12, [2, 13], seed=5))
    (candidates,) = zip(*run.target_tokenizer.encode(PRONOUNS), strict=True)
    expected = []
    for pair in pairs:
        source = [*run.source_tokenizer.encode([pair.source])[0], 2]
        prefix = [1, *run.target_tokenizer.encode([pair.prefix])[0]]
        logits = run.parts.model.apply(
            {"params": run.params},
            jnp.array([source]),
            jnp.array([prefix]),
            source_segments=jnp.ones((1, len(source)), int),
            target_segments=jnp.ones((1, len(prefix)), int),
        )
        chosen = np.argmax(logits[0, -1, jnp.array(candidates)])
        expected.append(PRONOUNS[chosen] == pair.target[len(pair.prefix) :].split()[0])
    np.testing.assert_array_equal(find_right_ones(run, pairs, 4), expected)
    assert 0 < sum(expected) < len(pairs)
