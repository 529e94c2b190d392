"""The Transformer's cache; what every model's does is in test_interface.py."""

import jax
import numpy as np

from tests.models import small

NUM_HYPOTHESES = 3
LENGTH = 6


def _setup(max_length=LENGTH, **changes):
    """Return model, parameters, batch, tokens [2, 3, 6], and an empty cache."""
    model, params = small.build(**changes)
    batch = small.batch()
    rng = np.random.default_rng(1)
    tokens = rng.integers(4, small.VOCAB_SIZE, (2, NUM_HYPOTHESES, LENGTH))
    source = {name: batch[name] for name in ("source_tokens", "source_segments")}
    memory = small.run(model, params, source, "encode")
    cache = model.apply(
        {"params": params},
        memory,
        source_segments=batch["source_segments"],
        num_hypotheses=NUM_HYPOTHESES,
        max_length=max_length,
        method="init_cache",
    )
    return model, params, batch, tokens, cache


def _full(model, params, batch, tokens):
    """Return logits [2, 3, length, vocab] of the uncached decoder."""
    rows = NUM_HYPOTHESES
    logits = small.run(
        model,
        params,
        {
            "source_tokens": np.repeat(batch["source_tokens"], rows, axis=0),
            "source_segments": np.repeat(batch["source_segments"], rows, axis=0),
            "decoder_input_tokens": tokens.reshape(-1, tokens.shape[-1]),
            "target_segments": np.ones((2 * rows, tokens.shape[-1]), int),
        },
    )
    return np.asarray(logits).reshape(2, rows, tokens.shape[-1], -1)


def _stepper(model, params):
    return jax.jit(
        lambda tokens, cache: model.apply(
            {"params": params}, tokens, cache, method="decode_step"
        )
    )


def test_the_memory_is_projected_once_for_all_hypotheses():
    model, _, batch, _, cache = _setup()
    num_layers = model.config.num_decoder_layers
    shapes = [leaf.shape for leaf in jax.tree.leaves(cache.sentence)]
    assert sorted(shapes) == sorted(
        [(2, 3, 7, 5), (2, 3, 7, 7)] * num_layers + [(2, 7)]
    )
    shapes = {leaf.shape for leaf in jax.tree.leaves(cache.hypothesis)}
    heads = (2, NUM_HYPOTHESES, 3)
    assert shapes == {(*heads, LENGTH, 5), (*heads, LENGTH, 7)}


def test_a_bfloat16_cache_follows_the_whole_decoder():
    model, params, batch, tokens, cache = _setup(dtype="bfloat16")
    assert {leaf.dtype.name for leaf in jax.tree.leaves(cache.hypothesis)} == {
        "bfloat16"
    }
    expected = _full(model, params, batch, tokens)
    step = _stepper(model, params)
    for position in range(LENGTH):
        logits, cache = step(tokens[:, :, position], cache)
        # The order of bfloat16 sums differs.
        np.testing.assert_allclose(logits, expected[:, :, position], atol=0.1)
