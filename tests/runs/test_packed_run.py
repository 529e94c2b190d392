"""A run whose rows are packed: all that a run can do, and the loss of its pairs."""

import functools
import json

import jax
import numpy as np
import pytest

from tests.tiny_run import tiny_config
from transformer_jax.data.pipeline import evaluation_batches
from transformer_jax.errors import UserError
from transformer_jax.models.dropout import dropout_bits
from transformer_jax.models.parameters import init_params
from transformer_jax.runs import experiment
from transformer_jax.runs.components import build_parts
from transformer_jax.runs.corpus import prepare_corpus
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.trained_run import load_run
from transformer_jax.sharding.mesh import make_mesh, shard_batch
from transformer_jax.training.step import eval_step, gradients


def _config(text, **training):
    config = tiny_config(text)
    config.data.update(batching="packed", packed_length=100, tokens_per_batch=800)
    config.training.update(**training)
    return config


@pytest.mark.slow
def test_a_packed_run_goes_on_bit_for_bit_and_in_no_other_way(text, tmp_path):
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    experiment.train(_config(text, num_steps=4), unbroken)
    experiment.train(_config(text, num_steps=2), broken)
    bucketed = _config(text, num_steps=4)
    bucketed.data.batching = "buckets"
    with pytest.raises(UserError, match="data.batching"):
        experiment.train(bucketed, broken)
    experiment.train(_config(text, num_steps=4), broken)
    left, right = (load_run(path, "4").params for path in (unbroken, broken))
    jax.tree.map(np.testing.assert_array_equal, left, right)
    losses = [
        [json.loads(line)["train/loss"] for line in (path / "metrics.jsonl").open()]
        for path in (unbroken, broken)
    ]
    assert losses[0] == losses[1]


def test_packed_and_bucketed_epochs_have_the_same_loss_and_gradient(text, tmp_path):
    """Of all pairs, on one device or four, whole or in micro-batches."""
    plans = {}
    for batching in ("buckets", "packed"):
        config = _config(text)
        config.data.batching = batching
        plans[batching] = prepare_corpus(config, RunDirectory(tmp_path / batching))
    corpus = plans["packed"]
    parts = build_parts(config, corpus.tokenizer.vocab_size)
    params = init_params(parts.model, jax.random.key(0), parts.task.inputs)
    loss_fn = parts.task.make_objective(parts.model, label_smoothing=0.1)

    def batches(batching):
        return list(
            evaluation_batches(
                lambda planned: parts.task.make_batch(
                    corpus.train, planned, corpus.specials
                ),
                plans[batching].plan,
            )
        )

    def sums(batches):
        step = jax.jit(lambda batch: eval_step(params, batch, loss_fn=loss_fn))
        return jax.tree.map(lambda *parts: sum(map(float, parts)), *map(step, batches))

    packed = batches("packed")
    assert max(batch.source_segments.max() for batch in packed) > 2
    expected, found = sums(batches("buckets")), sums(packed)
    assert found["padding_share"].total < expected["padding_share"].total
    for name in ("loss", "nll", "accuracy"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)
    for name in ("source_tokens", "target_tokens"):
        assert found[name] == expected[name]
    assert found["target_tokens"] == corpus.train.lengths[1].sum() + len(corpus.train)

    mesh = make_mesh(jax.devices()[:4])
    bits = dropout_bits(jax.random.key(1), packed[0].source_tokens.shape[0])
    whole, parted = (
        jax.jit(
            functools.partial(gradients, loss_fn=loss_fn, num_micro_batches=number)
        )(params, batch, bits)[0]
        for batch, number in ((packed[0], 1), (shard_batch(packed[0], mesh), 2))
    )
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), whole, parted
    )
