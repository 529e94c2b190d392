import jax
import numpy as np
import pytest

from tests.models import small
from transformer_jax.models.transformer import grow_cache

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


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_position": "pre", "use_logits_bias": True, "vocab_multiple": 8},
        {"positions": "learned", "tied_embeddings": "none"},
    ],
    ids=str,
)
def test_steps_give_the_logits_of_the_whole_decoder(changes):
    model, params, batch, tokens, cache = _setup(**changes)
    expected = _full(model, params, batch, tokens)
    step = _stepper(model, params)
    for position in range(LENGTH):
        assert cache.index == position
        logits, cache = step(tokens[:, :, position], cache)
        np.testing.assert_allclose(logits, expected[:, :, position], atol=1e-5)


def test_a_grown_cache_goes_on_with_the_same_logits():
    model, params, batch, tokens, cache = _setup(max_length=2)
    expected = _full(model, params, batch, tokens)
    step = _stepper(model, params)
    for position in range(LENGTH):
        if position in (2, 4):
            cache = grow_cache(cache, position + 2)
        logits, cache = step(tokens[:, :, position], cache)
        np.testing.assert_allclose(logits, expected[:, :, position], atol=1e-5)
    for leaf in jax.tree.leaves(cache.hypothesis):
        assert leaf.shape[:3] == (2, NUM_HYPOTHESES, LENGTH)


def test_reordered_hypotheses_take_their_past_along():
    model, params, batch, tokens, cache = _setup()
    step = _stepper(model, params)
    for position in range(3):
        _, cache = step(tokens[:, :, position], cache)
    parents = np.array([[2, 2, 0], [1, 0, 1]])
    sentence = np.arange(2)[:, None]
    cache = cache.replace(
        hypothesis=jax.tree.map(lambda leaf: leaf[sentence, parents], cache.hypothesis)
    )
    tokens = np.concatenate([tokens[sentence, parents, :3], tokens[:, :, 3:]], axis=-1)
    expected = _full(model, params, batch, tokens)
    for position in range(3, LENGTH):
        logits, cache = step(tokens[:, :, position], cache)
        np.testing.assert_allclose(logits, expected[:, :, position], atol=1e-5)


def test_sentences_can_be_dropped_from_the_cache():
    model, params, batch, tokens, cache = _setup()
    step = _stepper(model, params)
    _, cache = step(tokens[:, :, 0], cache)
    expected, _ = step(tokens[:, :, 1], cache)
    cache = cache.replace(
        sentence=jax.tree.map(lambda leaf: leaf[1:], cache.sentence),
        hypothesis=jax.tree.map(lambda leaf: leaf[1:], cache.hypothesis),
    )
    logits, _ = step(tokens[1:, :, 1], cache)
    np.testing.assert_allclose(logits, expected[1:], atol=1e-5)


def test_the_memory_is_projected_once_for_all_hypotheses():
    model, _, batch, _, cache = _setup()
    num_layers = model.config.num_decoder_layers
    shapes = [leaf.shape for leaf in jax.tree.leaves(cache.sentence)]
    assert sorted(shapes) == sorted(
        [(2, 7, 3, 5), (2, 7, 3, 7)] * num_layers + [(2, 7)]
    )
    shapes = {leaf.shape for leaf in jax.tree.leaves(cache.hypothesis)}
    assert shapes == {(2, NUM_HYPOTHESES, LENGTH, 3, depth) for depth in (5, 7)}


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
