"""The study of long dependencies: what is equal, what is counted, what it writes."""

import types

import jax

from transformer_jax.grammar.distances import PRONOUNS, distant_pairs
from transformer_jax.models import TRANSLATION_MODELS
from transformer_jax.models.parameters import count_params, param_shapes
from transformer_jax.runs.components import build_model
from transformer_jax.studies.long_dependencies import (
    STUDY,
    find_right_ones,
    make_config,
)

FULL = STUDY.sizes["full"]


def test_every_system_is_compared_at_equal_parameters():
    assert set(FULL.systems) == set(TRANSLATION_MODELS)
    sizes = []
    for system in FULL.systems:
        config = make_config(FULL, system, seed=0)
        model = build_model(config, config.data.vocab_size, config.data.vocab_size)
        sizes.append(count_params(param_shapes(model)))
    assert max(sizes) / min(sizes) < 1.05


def test_systems_are_trained_alike_but_for_the_model():
    configs = [make_config(FULL, system, seed=3).to_dict() for system in FULL.systems]
    models = [config.pop("model") for config in configs]
    assert {model["dropout_rate"] for model in models} == {0}
    assert all(config == configs[0] for config in configs)


class Words:
    """A tokenizer that gives every word a number."""

    pad_id, bos_id, eos_id = range(3)

    def __init__(self):
        self.ids = {}

    def encode(self, sentences):
        return [
            [self.ids.setdefault(word, 3 + len(self.ids)) for word in sentence.split()]
            for sentence in sentences
        ]


def test_the_pronoun_counts_that_is_the_most_probable_behind_the_true_words():
    words = Words()
    ((because, he, she, _),) = words.encode(["weil er sie es"])

    def apply(variables, decoder_input_tokens, **more):
        """Make sie probable behind weil, and er elsewhere."""
        choice = jax.numpy.where(decoder_input_tokens == because, she, he)
        return jax.nn.one_hot(choice, 500)

    model = types.SimpleNamespace(apply=apply)
    run = types.SimpleNamespace(
        tokenizers=(words, words), params={}, parts=types.SimpleNamespace(model=model)
    )
    pairs = list(distant_pairs("test", 12, [2, 13], seed=5))
    is_right = find_right_ones(run, pairs, 4)
    assert is_right.tolist() == [PRONOUNS[pair.gender] == "sie" for pair in pairs]
    assert is_right.sum() == 4


def test_distances_are_tabulated_in_four_bands_and_drawn():
    rows = [
        {
            "system": "transformer",
            "seed": seed,
            "distance": distance,
            "most_distance": 5,
            "accuracy": seed / 2,
            "num_params": 7,
            "target_tokens": 100.0,
        }
        for seed in (0, 1)
        for distance in range(2, 10)
    ]
    report = STUDY.tabulate(rows)
    (row,) = report.rows
    assert row["system"] == "transformer"
    assert row["2–3"] == "25 (0–50)"
    assert [c.name for c in report.parts[0].columns[3:]] == ["2–3", "4–5", "6–7", "8–9"]
    assert STUDY.draw(rows).axes
