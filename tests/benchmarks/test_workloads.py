import dataclasses

import numpy as np
import pytest

from benchmarks.sizes import BOS
from benchmarks.workloads import (
    build,
    make_batch,
    make_sizes,
    make_state,
    prepare_decoding,
    prepare_training,
)
from transformer_jax.models.parameters import count_params

SMALL = make_sizes(
    "tiny",
    dtype="float32",
    rows=8,
    length=16,
    vocab_size=300,
    layers=1,
)


def test_a_batch_is_full_and_its_decoder_reads_what_stands_before():
    batch = make_batch(SMALL)
    assert batch.loss_weights.sum() == SMALL.num_tokens == 8 * 16
    assert (batch.decoder_input_tokens[:, 0] == BOS).all()
    np.testing.assert_array_equal(
        batch.decoder_input_tokens[0, 1:8], batch.target_tokens[0, :7]
    )


@pytest.mark.parametrize("model", ["tiny", "base"])
def test_pytorchs_transformer_has_as_many_weights_as_ours(model):
    pytorch = pytest.importorskip("benchmarks.peers.pytorch")
    sizes = make_sizes(
        model, dtype="float32", rows=2, length=5, vocab_size=300, layers=2
    )
    theirs = sum(p.numel() for p in pytorch.Transformer(sizes).parameters())
    assert theirs == count_params(make_state(*build(sizes), is_stacked=False).params)


@pytest.mark.slow
def test_training_takes_turns_and_compiles_once():
    prepared = prepare_training(dataclasses.asdict(SMALL), steps=2)
    assert prepared.turn() > 0
    facts = prepared.facts()
    assert (facts["programs"], facts["programs_after"]) == (1, 0)
    assert 4 < facts["loss"] < 10


@pytest.mark.slow
def test_decoding_runs_to_its_limit():
    prepared = prepare_decoding(dataclasses.asdict(SMALL), beam_size=2, num_tokens=20)
    assert prepared.turn() > 0
    assert prepared.facts()["programs_after"] == 0
