"""Translating on several devices, and how many programs that takes."""

import dataclasses
import re

import jax
import numpy as np
import pytest

from benchmarks.workloads import CompileLog
from tests.decoding.test_translator import MODEL, SETTINGS, TOKENIZER, params
from tests.models.small import random_params
from transformer_jax.decoding import search
from transformer_jax.decoding.translator import Translator
from transformer_jax.models.recurrent import Recurrent, RecurrentConfig
from transformer_jax.sharding.mesh import batch_sharding, make_mesh, replicated

__all__ = ["params"]  # a fixture

LINES = ["abcdefg"[: 1 + i % 7] + " " + "gfedcba"[: i % 5] for i in range(90)]
MANY = dataclasses.replace(SETTINGS, tokens_per_batch=16 * 40, block_size=16)


def make(params, settings, num_devices, model=MODEL):
    mesh = make_mesh(jax.devices()[:num_devices])
    params = jax.device_put(params, replicated(mesh))
    placement = batch_sharding(mesh)
    return Translator(model, params, TOKENIZER, TOKENIZER, settings, placement)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_eight_devices_translate_as_one_does(params, beam_size):
    settings = dataclasses.replace(MANY, beam_size=beam_size, num_best=beam_size)
    one = make(params, settings, 1).translate(LINES)
    eight = make(params, settings, 8).translate(LINES)
    assert [line.text for line in eight] == [line.text for line in one]
    for line, expected in zip(eight, one, strict=True):
        np.testing.assert_allclose(
            [candidate.score for candidate in line.candidates],
            [candidate.score for candidate in expected.candidates],
            rtol=1e-5,
            atol=1e-5,
        )


@pytest.mark.slow
def test_eight_devices_translate_as_one_does_without_a_memory():
    """All that a recurrent model knows of a sentence is in its hypotheses."""
    size = TOKENIZER.vocab_size
    config = RecurrentConfig(size, size, num_layers=1, d_model=12, d_state=10)
    model = Recurrent(config)
    one, eight = (
        make(random_params(model), MANY, count, model).translate(LINES)
        for count in (1, 8)
    )
    assert [line.text for line in eight] == [line.text for line in one]


def test_steps_exchange_nothing_but_whether_all_are_done(params, monkeypatch):
    """All that devices tell each other within a block of steps is single numbers."""
    blocks = []
    run_block = search._run_block

    def recording(*arguments, **settings):
        blocks.append(run_block.lower(*arguments, **settings).compile().as_text())
        return run_block(*arguments, **settings)

    monkeypatch.setattr(search, "_run_block", recording)
    settings = dataclasses.replace(MANY, block_size=8)  # The cache grows.
    make(params, settings, 8).translate(LINES[:40])
    assert len(blocks) >= 2
    collective = r" = (.*) (all-gather|all-reduce|all-to-all|collective-permute|reduce-"
    for text in blocks:
        found = re.findall(collective + r"scatter)(?:-start)?\(", text)
        assert found  # Else the rows would not be split at all.
        assert all(re.fullmatch(r"(s32|pred)\[\]", shape) for shape, _ in found), found


@pytest.mark.parametrize("devices", [1, 8])
def test_a_test_set_takes_few_programs_and_the_next_time_none(params, devices):
    jax.clear_caches()
    translator = make(params, MANY, devices)
    log = CompileLog()
    first = translator.translate(LINES)
    # Encoder and start; blocks of 40 and half the rows, for 16 tokens and 32; and what
    # leads from one to the next.
    assert 2 < len(log.seconds) <= 9
    log = CompileLog()
    assert translator.translate(LINES) == first
    assert make(params, MANY, devices).translate(LINES) == first
    assert not log.seconds
