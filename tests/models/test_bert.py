import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.reference.bert import bert as reference
from transformer_jax.errors import UserError
from transformer_jax.models.bert import PRETRAINING_INPUTS, Bert
from transformer_jax.models.bert_as_encoder import encoder_params
from transformer_jax.models.bert_config import BERT_SIZES, BertConfig
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.dropout import dropout_bits
from transformer_jax.models.parameters import (
    count_params,
    init_params,
    param_axes,
    param_shapes,
)
from transformer_jax.models.transformer import Transformer
from transformer_jax.sharding.mesh import make_mesh
from transformer_jax.sharding.rules import param_shardings

SIZES = {"num_layers": 2, "d_model": 12, "d_ff": 20, "num_heads": 3}
SIZES |= {"max_positions": 17}
VOCAB_SIZE = 37


def build(**changes):
    model = Bert(BertConfig(VOCAB_SIZE, **SIZES | changes))
    params = init_params(model, jax.random.key(0), PRETRAINING_INPUTS)
    # Biases start at zero and norms at one, where a fault in them would not show.
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    return model, tree.unflatten(
        [
            np.asarray(leaf + 0.3 * jax.random.normal(key, leaf.shape))
            for leaf, key in zip(leaves, keys, strict=True)
        ]
    )


def batch():
    rng = np.random.default_rng(0)
    lengths = np.array([7, 4])[:, None]
    return {
        "tokens": rng.integers(0, VOCAB_SIZE, (2, 7)),
        "segments": (np.arange(7)[None] < lengths).astype(int),
        "token_types": np.array([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0]]),
        "masked_places": np.array([[5, 1, 0], [3, 0, 2]]),
    }


@pytest.mark.parametrize(
    "changes", [{}, {"vocab_multiple": 8}, {"activation": "relu"}], ids=str
)
def test_both_predictions_agree_with_the_reference(changes):
    model, params = build(**changes)
    logits, is_next = model.apply({"params": params}, **batch())
    expected, expected_is_next = reference(params, model.config, **batch())
    assert logits.shape == (2, 3, model.config.vocab_width)
    np.testing.assert_allclose(logits[..., :VOCAB_SIZE], expected, atol=1e-5)
    np.testing.assert_allclose(is_next, expected_is_next, atol=1e-5)
    assert np.all(np.asarray(logits)[..., VOCAB_SIZE:] == np.finfo("f4").min)


def test_what_stands_on_padding_changes_nothing():
    model, params = build()
    before, changed = batch(), batch()
    changed["tokens"][1, 4:] = [7, 8, 9]
    changed["token_types"][1, 4:] = 1
    for a, b in zip(
        model.apply({"params": params}, **before),
        model.apply({"params": params}, **changed),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_every_position_looks_both_ways():
    model, params = build()
    before, changed = batch(), batch()
    changed["tokens"][0, 6] += 1
    first, second = (
        model.apply({"params": params}, **one)[0][0] for one in (before, changed)
    )
    assert np.abs(first - second).max(axis=-1).min() > 1e-3


def test_dropout_acts_and_bfloat16_stays_near():
    model, params = build(dropout_rate=0.3, attention_dropout_rate=0.3)
    narrow = Bert(BertConfig(VOCAB_SIZE, **SIZES, dtype="bfloat16"))
    logits, is_next = model.apply({"params": params}, **batch())
    rounded, _ = narrow.apply({"params": params}, **batch())
    assert rounded.dtype == jnp.bfloat16 and is_next.dtype == jnp.float32
    np.testing.assert_allclose(rounded.astype(float), logits, atol=0.1)
    bits = dropout_bits(jax.random.key(3), 2)
    dropped, _ = model.apply({"params": params}, **batch(), dropout=bits)
    assert np.abs(dropped - logits).max() > 0.1


def test_parameters_start_as_published():
    params = init_params(
        Bert(BertConfig(1000, **BERT_SIZES["tiny"])),
        jax.random.key(0),
        PRETRAINING_INPUTS,
    )
    # A normal cut off at two of its deviations has 0.88 of the deviation left.
    for values in (
        params["token_embedding"]["embedding"],
        params["encoder"]["layer_0"]["feed_forward"]["expand"]["kernel"],
        params["encoder"]["layer_1"]["self_attention"]["output"]["kernel"],
    ):
        assert 0.0170 < values.std() < 0.0182
        assert np.abs(values).max() <= 0.04


# With V = 30 522. Base by hand: tables (30 522 + 512 + 2) 768 and a norm of 2 * 768; in
# each of 12 layers 4 (768^2 + 768) of attention, 2 * 768 * 3072 + 3072 + 768 of the
# feed-forward, two norms; the pooler 768^2 + 768: 109 482 240, the published 110M. The
# heads: 768^2 + 768 + 2 * 768 + 30 522, and 2 * 768 + 2.
@pytest.mark.parametrize(
    ("size", "encoder", "heads"),
    [
        ("tiny", 4_385_920, 47_290 + 258),
        ("base", 109_482_240, 622_650 + 1_538),
        ("large", 335_141_888, 1_082_170 + 2_050),
    ],
)
def test_the_sizes_have_the_parameters_worked_out_by_hand(size, encoder, heads):
    model = Bert(BertConfig(30_522, **BERT_SIZES[size]))
    assert count_params(param_shapes(model, PRETRAINING_INPUTS)) == encoder + heads


def test_every_parameter_can_be_laid_out_on_a_mesh():
    mesh = make_mesh(jax.devices()[:2])
    shardings = param_shardings(param_axes(build()[0], PRETRAINING_INPUTS), mesh)
    assert len(jax.tree.leaves(shardings)) == len(jax.tree.leaves(build()[1]))


def test_sizes_that_make_no_encoder_are_refused():
    with pytest.raises(UserError, match="num_heads=5 does not divide d_model=12"):
        BertConfig(VOCAB_SIZE, **SIZES | {"num_heads": 5})
    with pytest.raises(UserError, match="vocab_size=0"):
        BertConfig(0, **SIZES)


def test_a_transformer_encodes_words_where_the_bert_that_it_starts_from_has_them():
    bert, params = build()
    config = bert.config
    transformer = Transformer(
        TransformerConfig(
            VOCAB_SIZE,
            VOCAB_SIZE,
            num_encoder_layers=config.num_layers,
            num_decoder_layers=1,
            d_model=config.d_model,
            d_ff=config.d_ff,
            num_heads=config.num_heads,
            activation=config.activation,
            norm_epsilon=config.norm_epsilon,
            positions="learned",
            max_positions=config.max_positions,
            norm_embeddings=True,
            use_attention_bias=True,
        )
    )
    tokens, segments = batch()["tokens"], batch()["segments"]
    # BERT's rows begin with a piece that opens them; here nobody looks at it.
    opened = np.pad(tokens, ((0, 0), (1, 0)), constant_values=1)
    expected = bert.apply(
        {"params": params},
        opened,
        segments=np.pad(segments, ((0, 0), (1, 0)), constant_values=9),
        token_types=np.zeros_like(opened),
        method="encode",
    )[:, 1:]
    memory = transformer.apply(
        {"params": encoder_params(params)},
        tokens,
        source_segments=segments,
        method="encode",
    )
    is_real = segments != 0
    np.testing.assert_allclose(memory[is_real], expected[is_real], atol=2e-5)
