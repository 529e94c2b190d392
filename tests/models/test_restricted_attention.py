"""Restricted self-attention: blocks against masks, and how its memory grows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from tests.reference import attention as reference
from tests.reference.transformer import transformer
from transformer_jax.errors import UserError
from transformer_jax.models.attention import MultiHeadAttention
from transformer_jax.models.dropout import DropoutBits, dropout_bits
from transformer_jax.models.masks import Visibility
from transformer_jax.models.restricted_attention import goes_by_blocks
from transformer_jax.models.transformer import Transformer

# Two sentences and padding; padding alone; one sentence and padding in its midst.
SEGMENTS = np.array(
    [[1] * 6 + [2] * 9 + [0] * 2, [0] * 17, [1] * 7 + [0] * 5 + [2] * 5]
)


def _layer(**changes):
    """Return a layer, its parameters and [3, 17, 12] to apply it to."""
    module = MultiHeadAttention(12, 3, d_k=4, **{"d_v": 7, **changes})
    x = np.random.default_rng(0).standard_normal((3, 17, 12), dtype=np.float32)
    visible = Visibility(SEGMENTS, SEGMENTS)
    return module, small.random_like(lambda rng: module.init(rng, x, visible)), x


def _dense(module, params, x, visible):
    """Apply the layer in a way that makes it attend by whole rows."""
    return module.apply(params, x, visible, mutable="intermediates")


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("reach", [0, 1, 2, 3, 5])
def test_blocks_give_what_the_equation_gives_under_the_mask(reach, is_causal):
    module, params, x = _layer()
    visible = Visibility(SEGMENTS, SEGMENTS, is_causal, reach)
    assert goes_by_blocks(visible)
    expected, _ = reference.multi_head_attention(
        params["params"], x, x, np.asarray(visible.mask())
    )
    output = module.apply(params, x, visible)
    np.testing.assert_allclose(output, expected, atol=1e-5)
    assert not np.any(np.asarray(output)[SEGMENTS == 0])


@pytest.mark.parametrize("is_causal", [False, True])
def test_blocks_have_the_gradients_of_whole_rows(is_causal):
    module, params, x = _layer()
    visible = Visibility(SEGMENTS, SEGMENTS, is_causal, reach=3)

    def total(apply):
        return lambda params, x: jnp.sum(jnp.sin(apply(params, x)))

    by_blocks = total(lambda params, x: module.apply(params, x, visible))
    whole = total(lambda params, x: _dense(module, params, x, visible)[0])
    jax.tree.map(
        lambda one, other: np.testing.assert_allclose(one, other, atol=1e-5),
        *(jax.grad(each, argnums=(0, 1))(params, x) for each in (by_blocks, whole)),
    )


def test_rows_no_longer_than_a_blocks_keys_stay_whole():
    for is_causal, num_keys in ((False, 15), (True, 10)):
        for length in (num_keys, num_keys + 1):
            segments = np.ones((1, length), int)
            visible = Visibility(segments, segments, is_causal, reach=5)
            assert goes_by_blocks(visible) == (length > num_keys)
    assert not goes_by_blocks(Visibility(SEGMENTS, SEGMENTS))


def test_weights_that_are_shown_are_those_of_whole_rows():
    module, params, x = _layer()
    visible = Visibility(SEGMENTS, SEGMENTS, reach=2)
    output, state = _dense(module, params, x, visible)
    (weights,) = state["intermediates"]["attention_weights"]
    assert weights.shape == (3, 3, 17, 17)
    assert not np.any(np.where(visible.mask(), 0.0, weights))
    np.testing.assert_allclose(output, module.apply(params, x, visible), atol=1e-5)


def test_the_kernel_takes_blocks_too():
    plain, params, x = _layer(d_v=4, implementation="plain")
    fused = plain.clone(implementation="fused")
    visible = Visibility(SEGMENTS, SEGMENTS, reach=2)
    np.testing.assert_allclose(
        fused.apply(params, x, visible), plain.apply(params, x, visible), atol=1e-5
    )


def test_dropped_weights_of_blocks_are_of_the_row_and_of_the_right_share():
    """Not those of whole rows: a weight's number is its place among a row's blocks."""
    module, params, x = _layer(dropout_rate=0.25)
    segments = np.ones((3, 17), int)
    visible = Visibility(segments, segments, reach=2)
    bits = dropout_bits(jax.random.key(0), 3)
    output = module.apply(params, x, visible, bits)
    row = Visibility(segments[1:2], segments[1:2], reach=2)
    alone = module.apply(params, x[1:2], row, DropoutBits(bits.seed, bits.rows[1:2]))
    np.testing.assert_allclose(alone, output[1:2], atol=1e-5)
    # Each kept weight is 4/3 of what it was, so that the mean over draws stays.
    draws = jax.vmap(
        lambda rng: module.apply(params, x, visible, dropout_bits(rng, 3))
    )(jax.random.split(jax.random.key(1), 2000))
    expected = module.apply(params, x, visible)
    error = draws.std(axis=0) / 2000**0.5
    assert np.all(np.abs(draws.mean(axis=0) - expected) < 5.5 * error + 1e-5)
    assert np.all(draws.std(axis=0) > 0.0)


def _array_sizes(jaxpr):
    for equation in jaxpr.eqns:
        yield from (variable.aval.size for variable in equation.outvars)
        for value in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda node: hasattr(node, "jaxpr")
        ):
            if hasattr(value, "jaxpr"):
                yield from _array_sizes(value.jaxpr)


@pytest.mark.parametrize("is_causal", [False, True])
def test_memory_grows_with_the_length_and_not_with_its_square(is_causal):
    """Forward and backward: arrays in the program, and bytes that XLA sets aside."""
    module, params, _ = _layer()

    def measure(length, reach):
        segments = jnp.ones((1, length), int)

        def total(x):
            visible = Visibility(segments, segments, is_causal, reach)
            return jnp.sum(module.apply(params, x, visible))

        x = jax.ShapeDtypeStruct((1, length, 12), jnp.float32)
        compiled = jax.jit(jax.grad(total)).lower(x).compile()
        return (
            max(_array_sizes(jax.make_jaxpr(jax.grad(total))(x).jaxpr)),
            compiled.memory_analysis().temp_size_in_bytes,
        )

    lengths = (256, 512, 1024)
    for reach, growth in ((4, 2.0), (None, 4.0)):
        arrays, numbers = zip(
            *(measure(length, reach) for length in lengths), strict=True
        )
        for sizes in (arrays, numbers):
            ratios = np.divide(sizes[1:], sizes[:-1])
            np.testing.assert_allclose(ratios, growth, rtol=0.2)
        assert (arrays[-1] >= lengths[-1] ** 2) == (reach is None)


@pytest.mark.parametrize(
    "changes", [{}, {"norm_position": "pre", "attention_scaling": "none"}]
)
def test_the_whole_model_agrees_with_the_reference(changes):
    model, params = small.build(window=3, **changes)
    batch = small.batch()
    logits = small.run(model, params, batch)
    _, expected = transformer(params, model.config, **batch)
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    whole = Transformer(small.config(**changes)).apply({"params": params}, **batch)
    is_real = batch["target_segments"] != 0
    assert np.all(np.abs(logits - whole).max(axis=-1)[is_real] > 1e-3)


def test_a_window_over_the_whole_row_is_no_restriction():
    """7 source positions: 6 to either side."""
    model, params = small.build(window=13)
    batch = small.batch()
    whole = Transformer(small.config()).apply({"params": params}, **batch)
    np.testing.assert_array_equal(small.run(model, params, batch), whole)


def test_bfloat16_follows_float32():
    model, params = small.build(window=3)
    narrow = Transformer(small.config(window=3, dtype="bfloat16"))
    batch = small.batch()
    logits = small.run(narrow, params, batch)
    assert logits.dtype == jnp.bfloat16
    # Eight bits of mantissa, through three layers.
    np.testing.assert_allclose(
        logits.astype(jnp.float32), small.run(model, params, batch), atol=0.15
    )


def test_decoding_keeps_no_more_tokens_than_are_seen():
    model, params = small.build(window=5)
    batch = small.batch()
    source = {name: batch[name] for name in ("source_tokens", "source_segments")}
    cache = small.run(
        model,
        params,
        {"memory": small.run(model, params, source, "encode")},
        "init_cache",
        source_segments=batch["source_segments"],
        num_hypotheses=2,
        max_length=2,
    )
    for max_length, room in ((2, 2), (3, 3), (100, 3)):
        cache = model.grow_cache(cache, max_length)
        assert {past.max_length for past in cache.hypothesis} == {room}
        assert cache.max_length == max_length


@pytest.mark.parametrize("window", [2, 0, -1])
def test_a_window_has_a_centre(window):
    with pytest.raises(UserError, match=f"window={window}"):
        small.config(window=window)
