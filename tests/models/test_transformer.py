import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from tests.reference.transformer import transformer as reference
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.dropout import DropoutBits, dropout_bits
from transformer_jax.models.parameters import init_params, param_axes, param_shapes
from transformer_jax.models.transformer import Transformer

OPTIONS = [
    {},
    {"norm_position": "pre"},
    {"activation": "gelu"},
    {"activation": "swish"},
    {"positions": "learned"},
    {"positions": "none"},
    {"positions": "learned", "norm_embeddings": True},
    {"sinusoid_layout": "halves"},
    {"sinusoid_layout": "tensor2tensor"},
    {"tied_embeddings": "target"},
    {"tied_embeddings": "none", "source_vocab_size": 41},
    {"use_attention_bias": True, "use_logits_bias": True},
    {"attention_scaling": "none"},
    {"vocab_multiple": 8},
    {"d_k": None, "d_v": None, "norm_epsilon": 1e-3},
]


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_every_option_agrees_with_the_reference(changes):
    model, params = small.build(**changes)
    batch = small.batch()
    logits = small.run(model, params, batch)
    _, expected = reference(params, model.config, **batch)
    assert logits.shape == (2, 5, model.config.target_vocab_width)
    assert logits.dtype == jnp.float32
    np.testing.assert_allclose(logits[..., : small.VOCAB_SIZE], expected, atol=1e-5)
    assert np.all(np.asarray(logits)[..., small.VOCAB_SIZE :] == np.finfo("f4").min)


def test_encode_agrees_with_the_reference_where_tokens_are_real():
    model, params = small.build()
    batch = small.batch()
    source = {name: batch[name] for name in ("source_tokens", "source_segments")}
    memory = small.run(model, params, source, "encode")
    expected, _ = reference(params, model.config, **batch)
    np.testing.assert_allclose(memory, expected, atol=1e-5)


def test_later_target_tokens_leave_earlier_logits_alone():
    model, params = small.build()
    batch = small.batch()
    before = small.run(model, params, batch)
    batch["decoder_input_tokens"][:, 3] = 9
    after = small.run(model, params, batch)
    np.testing.assert_array_equal(after[:, :3], before[:, :3])
    assert np.all(np.abs(after[0, 3:] - before[0, 3:]).max(axis=-1) > 1e-3)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_stands_on_padding_changes_nothing(dtype):
    model, params = small.build(dtype=dtype)
    batch = small.batch()
    before = small.run(model, params, batch)
    batch["source_tokens"][1, 4:] = [7, 8, 9]
    batch["decoder_input_tokens"][1, 3:] = [7, 8]
    after = small.run(model, params, batch)
    is_real = batch["target_segments"] != 0
    np.testing.assert_array_equal(after[is_real], before[is_real])


def test_more_padding_and_other_rows_change_nothing():
    model, params = small.build()
    batch = small.batch()
    logits = small.run(model, params, batch)
    padded = {name: np.pad(array, [(0, 1), (0, 4)]) for name, array in batch.items()}
    np.testing.assert_allclose(
        small.run(model, params, padded)[:2, :5], logits, atol=1e-5
    )
    alone = {name: array[1:] for name, array in batch.items()}
    np.testing.assert_allclose(small.run(model, params, alone), logits[1:], atol=1e-5)


def test_packed_sentences_equal_unpacked_ones():
    model, params = small.build()
    batch = small.batch()
    logits = small.run(model, params, batch)
    source, target = batch["source_tokens"], batch["decoder_input_tokens"]
    packed = {
        "source_tokens": np.concatenate([source[0], source[1, :4], [0]])[None],
        "decoder_input_tokens": np.concatenate([target[0], target[1, :3], [0]])[None],
        "source_segments": np.array([[1] * 7 + [2] * 4 + [0]]),
        "target_segments": np.array([[1] * 5 + [2] * 3 + [0]]),
        "source_positions": np.array([[*range(7), *range(4), 0]]),
        "target_positions": np.array([[*range(5), *range(3), 0]]),
    }
    together = small.run(model, params, packed)
    np.testing.assert_allclose(together[0, :5], logits[0], atol=1e-5)
    np.testing.assert_allclose(together[0, 5:8], logits[1, :3], atol=1e-5)
    _, expected = reference(params, model.config, **packed)
    np.testing.assert_allclose(together, expected, atol=1e-5)


@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_rows_of_padding_give_finite_values_and_gradients(norm_position):
    model, params = small.build(norm_position=norm_position)
    batch = small.batch()
    for name in ("source_segments", "target_segments"):
        batch[name][1] = 0

    def loss(params):
        return jax.nn.log_softmax(small.run(model, params, batch))[..., 5].sum()

    value, grads = jax.jit(jax.value_and_grad(loss))(params)
    assert np.isfinite(value)
    for grad in jax.tree.leaves(grads):
        assert np.all(np.isfinite(grad))


def test_padding_adds_nothing_to_the_gradient_of_the_tables():
    model, params = small.build(tied_embeddings="none")
    batch = small.batch()
    batch["source_tokens"][1, 4:] = 0
    batch["decoder_input_tokens"][1, 3:] = 0

    def loss(params):
        return jnp.square(small.run(model, params, batch)).sum()

    grads = jax.jit(jax.grad(loss))(params)
    for table in ("source_embedding", "target_embedding"):
        grad = np.asarray(grads[table]["embedding"])
        assert np.all(grad[0] == 0)
        assert np.any(grad[4:] != 0)


def test_attention_weights_are_sown_only_on_request():
    model, params = small.build()
    batch = small.batch()
    logits, state = small.run(model, params, batch, mutable="intermediates")
    np.testing.assert_array_equal(logits, small.run(model, params, batch))
    encoder = state["intermediates"]["encoder"]["layer_0"]
    decoder = state["intermediates"]["decoder"]["layer_1"]
    (weights,) = encoder["self_attention"]["attention_weights"]
    assert weights.shape == (2, 3, 7, 7)
    assert np.all(np.asarray(weights)[1, :, :, 4:] == 0)
    (weights,) = decoder["self_attention"]["attention_weights"]
    assert weights.shape == (2, 3, 5, 5)
    assert np.all(np.asarray(weights)[:, :, 0, 1:] == 0)
    (weights,) = decoder["cross_attention"]["attention_weights"]
    assert weights.shape == (2, 3, 5, 7)
    np.testing.assert_allclose(weights[0].sum(axis=-1), 1, atol=1e-6)


def test_bfloat16_stays_near_float32():
    model, params = small.build()
    half, _ = small.build(dtype="bfloat16")
    batch = small.batch()
    logits = small.run(half, params, batch)
    assert logits.dtype == jnp.bfloat16
    # bfloat16 keeps 8 bits, and errors add up over the layers.
    logits = logits.astype(jnp.float32)
    np.testing.assert_allclose(logits, small.run(model, params, batch), atol=0.15)
    source = {name: batch[name] for name in ("source_tokens", "source_segments")}
    assert small.run(half, params, source, "encode").dtype == jnp.bfloat16
    init = param_shapes(half)
    assert {leaf.dtype for leaf in jax.tree.leaves(init)} == {np.dtype("float32")}


def test_dropout_is_off_unless_given_and_then_follows_its_bits():
    model, params = small.build(
        dropout_rate=0.2, attention_dropout_rate=0.2, feed_forward_dropout_rate=0.2
    )
    batch = small.batch()
    plain = small.run(model, params, batch)
    np.testing.assert_array_equal(plain, small.run(model, params, batch))
    bits = dropout_bits(jax.random.key(0), 2)
    dropped = small.run(model, params, batch, dropout=bits)
    assert np.abs(dropped - plain).max() > 1e-2
    np.testing.assert_array_equal(
        small.run(model, params, batch, dropout=bits), dropped
    )
    other = small.run(model, params, batch, dropout=dropout_bits(jax.random.key(1), 2))
    assert np.abs(dropped - other).max() > 1e-2


@pytest.mark.parametrize(
    "rate", ["dropout_rate", "attention_dropout_rate", "feed_forward_dropout_rate"]
)
def test_each_kind_of_dropout_acts_by_itself(rate):
    model, params = small.build(**({"dropout_rate": 0.0} | {rate: 0.5}))
    batch = small.batch()
    bits = dropout_bits(jax.random.key(0), 2)
    dropped = small.run(model, params, batch, dropout=bits)
    assert np.abs(dropped - small.run(model, params, batch)).max() > 1e-2


def test_every_place_has_dropout_of_its_own():
    model, _ = small.build(attention_dropout_rate=0.1, feed_forward_dropout_rate=0.1)
    paths = set()

    def record(next_function, args, kwargs, context):
        if type(context.module).__name__ == "Dropout":
            paths.add(context.module.path)
        return next_function(*args, **kwargs)

    with nn.intercept_methods(record):
        params = small.random_params(model)
        bits = dropout_bits(jax.random.key(0), 2)
        small.run(model, params, small.batch(), dropout=bits)
    # 2 embeddings, 4 in the encoder's layer, 6 in each of the decoder's two.
    assert len(paths) == 2 + 4 + 2 * 6


def test_micro_batches_drop_what_the_whole_batch_drops():
    model, params = small.build(dropout_rate=0.3, attention_dropout_rate=0.2)
    batch = small.batch()
    bits = dropout_bits(jax.random.key(0), 2)
    whole = small.run(model, params, batch, dropout=bits)
    for row in range(2):
        rows = slice(row, row + 1)
        part = {name: array[rows] for name, array in batch.items()}
        logits = small.run(
            model, params, part, dropout=DropoutBits(bits.seed, bits.rows[rows])
        )
        np.testing.assert_allclose(logits, whole[rows], atol=1e-5)


@pytest.mark.parametrize(
    "norm_position", ["post", pytest.param("pre", marks=pytest.mark.slow)]
)
def test_the_base_models_first_loss_is_11_02(norm_position):
    """That of 37 000 logits with variance one, ln V + 1/2 = 10.52 + 0.5."""
    model = Transformer(
        TransformerConfig(
            source_vocab_size=37_000,
            target_vocab_size=37_000,
            norm_position=norm_position,
        )
    )
    params = jax.jit(lambda rng: init_params(model, rng))(jax.random.key(0))
    tokens = np.random.default_rng(0).integers(0, 37_000, (2, 3, 11))
    segments = np.ones((3, 11), int)
    logits = jax.jit(model.apply)(
        {"params": params},
        tokens[0],
        tokens[1],
        source_segments=segments,
        target_segments=segments,
    )
    np.testing.assert_allclose(logits.std(), 1.0, rtol=0.05)
    # The mean over every piece as the truth, so that no draw of truths adds its noise.
    losses = jax.nn.logsumexp(logits, axis=-1) - logits.mean(axis=-1)
    np.testing.assert_allclose(losses.mean(), 11.02, atol=0.1)


def test_params_are_plain_float32_arrays_and_depend_on_the_key_alone():
    model = Transformer(small.config())
    params = init_params(model, jax.random.key(0))
    again = init_params(model, jax.random.key(0))
    other = init_params(model, jax.random.key(1))
    jax.tree.map(np.testing.assert_array_equal, params, again)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(params))
    kernel = ("encoder", "layer_0", "self_attention", "query", "kernel")
    first, second = params, other
    for name in kernel:
        first, second = first[name], second[name]
    assert first.dtype == jnp.float32
    assert np.any(first != second)


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_every_axis_of_every_parameter_has_a_name(changes):
    model = Transformer(small.config(**changes))
    params = param_shapes(model)
    axes = param_axes(model)
    assert jax.tree.structure(params) == jax.tree.structure(axes)
    jax.tree.map(lambda leaf, names: _check_names(leaf.shape, names), params, axes)


def _check_names(shape, names):
    known = {"vocab", "positions", "d_model", "heads", "d_k", "d_v", "d_ff"}
    assert len(names) == len(shape)
    assert set(names) <= known
