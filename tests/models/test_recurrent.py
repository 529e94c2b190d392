"""Recurrent models against float64 references, and what each paper says of them."""

import jax
import numpy as np
import pytest

from tests.models import small
from tests.reference import recurrent as reference
from transformer_jax.models.dropout import Dropout, dropout_bits
from transformer_jax.models.parameters import count_params, param_shapes
from transformer_jax.models.recurrence import RecurrentLayer
from transformer_jax.models.recurrent import Recurrent, RecurrentConfig
from transformer_jax.models.recurrent_attention import RecurrentAttention
from transformer_jax.models.recurrent_attention_config import RecurrentAttentionConfig

V = small.VOCAB_SIZE
CELLS = ["lstm", "gru"]


def _recurrent(**changes):
    sizes = {"num_layers": 2, "d_model": 12, "d_state": 10}
    model = Recurrent(RecurrentConfig(V, V, **(sizes | changes)))
    return model, small.random_params(model)


def _attentive(**changes):
    sizes = {"d_model": 12, "d_state": 10, "d_attention": 7}
    model = RecurrentAttention(RecurrentAttentionConfig(V, V, **(sizes | changes)))
    return model, small.random_params(model)


def _sentence(batch, side, row):
    name = {"source": "source_tokens", "target": "decoder_input_tokens"}[side]
    return batch[name][row][batch[f"{side}_segments"][row] != 0]


def _layer(cell, **changes):
    """Return a layer that reads 5 wide vectors, and its random parameters."""
    settings = {"d_in": 5, "d_state": 3, "dropout_rate": 0.0}
    layer = RecurrentLayer(cell, **(settings | changes))
    x, segments = np.zeros((1, 1, 5), np.float32), np.ones((1, 1), int)
    init = lambda rng: layer.init(rng, x, segments, None)["params"]  # noqa: E731
    return layer, small.random_like(init)


@pytest.mark.parametrize("cell", CELLS)
def test_a_layer_follows_its_equations_from_a_given_state(cell):
    layer, params = _layer(cell)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 7, 5), dtype=np.float32)
    initial = rng.standard_normal((2, 7, layer.num_parts, 3), dtype=np.float32)
    segments = np.ones((2, 7), int)
    states = layer.apply({"params": params}, x, segments, None, initial=initial)
    for row in range(2):
        expected = reference.read(params, cell, x[row], initial[row, 0])
        np.testing.assert_allclose(states[row], expected, atol=1e-5)


@pytest.mark.parametrize("cell", CELLS)
def test_backwards_is_forwards_on_what_is_turned_round(cell):
    layer, params = _layer(cell)
    x = np.random.default_rng(0).standard_normal((1, 4, 5), dtype=np.float32)
    padded = np.concatenate([x, np.full((1, 3, 5), 9, np.float32)], axis=1)
    segments = np.array([[1, 1, 1, 1, 0, 0, 0]])
    states = layer.apply({"params": params}, padded, segments, None, is_reverse=True)
    zero = reference.zero_state(cell, 3)
    expected = reference.read(params, cell, x[0, ::-1], zero)[::-1]
    np.testing.assert_allclose(states[0, :4], expected, atol=1e-5)


@pytest.mark.parametrize(("cell", "count"), [("lstm", 4), ("gru", 3)])
def test_a_layer_has_as_many_parameters_as_its_formula_says(cell, count):
    _, params = _layer(cell)
    assert count_params(params) == count * (5 + 3 + 1) * 3


def test_an_lstm_step_worked_out_by_hand():
    """All maps zero: half of the memory's share enters and leaves, 0.731 is kept."""
    layer, params = _layer("lstm")
    zeros = jax.tree.map(np.zeros_like, params)
    state = np.array([[[[0.3] * 3, [2.0] * 3]]], np.float32)
    x = np.ones((1, 1, 5), np.float32)
    (hidden, memory) = layer.apply(
        {"params": zeros}, x, state, method=RecurrentLayer.step
    )[0, 0]
    # 2 sigmoid(1) = 1.462117; half of tanh of it is 0.449031.
    np.testing.assert_allclose(memory, [1.462117] * 3, atol=1e-6)
    np.testing.assert_allclose(hidden, [0.449031] * 3, atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"cell": "gru"},
        {"num_layers": 1, "reverse_source": False},
        {"tied_embeddings": "none", "use_logits_bias": True},
    ],
    ids=str,
)
def test_the_encoder_decoder_agrees_with_the_reference(changes):
    model, params = _recurrent(**changes)
    batch = small.batch()
    logits = small.run(model, params, batch)
    for row in range(2):
        source, target = (_sentence(batch, side, row) for side in ("source", "target"))
        expected = reference.encoder_decoder(params, model.config, source, target)
        expected = expected + params.get("logits_bias", 0.0)
        np.testing.assert_allclose(logits[row, : len(target)], expected, atol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"cell": "lstm"},
        {"attention_score": "multiplicative"},
        {"num_encoder_layers": 2, "num_decoder_layers": 3},
    ],
    ids=str,
)
def test_the_model_with_attention_agrees_with_the_reference(changes):
    model, params = _attentive(**changes)
    batch = small.batch()
    logits, sown = model.apply({"params": params}, **batch, mutable=["intermediates"])
    weights = sown["intermediates"]["decoder"]["layer_0"]["cross_attention"]
    (weights,) = weights["attention_weights"]
    assert weights.shape == (2, 1, 5, 7)
    for row in range(2):
        source, target = (_sentence(batch, side, row) for side in ("source", "target"))
        expected, expected_weights = reference.attentive_encoder_decoder(
            params, model.config, source, target
        )
        np.testing.assert_allclose(logits[row, : len(target)], expected, atol=1e-5)
        found = weights[row, 0, : len(target)]
        np.testing.assert_allclose(found[:, : len(source)], expected_weights, atol=1e-5)
        assert not found[:, len(source) :].any()


def test_the_decoder_gets_the_last_states_and_nothing_else():
    model, params = _recurrent()
    batch = small.batch()
    source = {name: batch[name] for name in ("source_tokens", "source_segments")}
    memory = small.run(model, params, source, "encode")
    assert memory.shape == (2, 7, 2, 2, 10)
    for row, length in enumerate((7, 4)):
        for position in range(length):
            np.testing.assert_array_equal(memory[row, position], memory[row, 0])


@pytest.mark.parametrize("kind", ["zaremba", "variational"])
def test_the_state_is_dropped_by_the_variational_kind_alone(kind):
    """Zero inputs, so that whatever is dropped must be of the state."""
    layer, params = _layer("gru", dropout_rate=0.5, dropout_kind=kind)
    x, segments = np.zeros((1, 3, 5), np.float32), np.ones((1, 3), int)
    initial = np.full((1, 3, 1, 3), 0.5, np.float32)
    bits = dropout_bits(jax.random.key(0), 1)
    apply = lambda bits: layer.apply(  # noqa: E731
        {"params": params}, x, segments, bits, initial=initial
    )
    is_changed = np.any(np.asarray(apply(bits)) != np.asarray(apply(None)))
    assert is_changed == (kind == "variational")


def test_variational_dropout_drops_the_same_features_at_every_position():
    x = np.ones((4, 6, 50), np.float32)
    bits = dropout_bits(jax.random.key(0), 4)
    anew, alike = (
        np.asarray(Dropout(0.3, is_variational).apply({}, x, bits))
        for is_variational in (False, True)
    )
    np.testing.assert_array_equal(alike, np.broadcast_to(alike[:, :1], alike.shape))
    assert np.any(anew != anew[:, :1])
    assert np.any(alike[0] != alike[1])
    assert 0.2 < np.mean(alike == 0) < 0.4


@pytest.mark.parametrize("build", [_recurrent, _attentive])
def test_narrow_types_give_nearly_the_same_logits(build):
    batch = small.batch()
    model, params = build()
    narrow, _ = build(dtype="bfloat16")
    logits = small.run(narrow, params, batch)
    assert logits.dtype == "bfloat16"
    exact = small.run(model, params, batch)
    real = batch["target_segments"] != 0
    # bfloat16 has 8 bits.
    np.testing.assert_allclose(
        np.asarray(logits, np.float32)[real], exact[real], atol=0.05
    )


def test_the_counted_sizes_are_those_of_the_papers_layers():
    """The encoder's part of Bahdanau et al., Section A.2.3, with 30 000 words."""
    config = RecurrentAttentionConfig(30_000, 30_000)
    layer = param_shapes(RecurrentAttention(config))["forward_layer_0"]
    assert count_params(layer) == 3 * (620 + 1000 + 1) * 1000
