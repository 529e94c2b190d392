import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from tests.reference.convolutional import convolutional as reference
from transformer_jax.errors import UserError
from transformer_jax.models import convolutional
from transformer_jax.models.convolutional import Convolutional
from transformer_jax.models.convolutional_config import ConvolutionalConfig
from transformer_jax.models.dropout import dropout_bits
from transformer_jax.models.layer_scan import stack_layers
from transformer_jax.models.parameters import init_params

SIZES = {
    "num_encoder_layers": 2,
    "num_decoder_layers": 3,
    "d_model": 12,
    "num_channels": 10,
    "kernel_width": 3,
    "max_positions": 16,
}


def _config(**changes):
    vocabulary = {"source_vocab_size": small.VOCAB_SIZE}
    vocabulary["target_vocab_size"] = small.VOCAB_SIZE
    return ConvolutionalConfig(**(vocabulary | SIZES | changes))


def _build(**changes):
    model = Convolutional(_config(**changes))
    return model, small.random_params(model)


def _run(model, params, batch, **options):
    """Apply the model, compiled as a whole."""
    run = jax.jit(lambda params: small.run(model, params, batch, **options))
    return run(params)


def _packed():
    rng = np.random.default_rng(1)
    return {
        "source_tokens": rng.integers(4, small.VOCAB_SIZE, (1, 12)),
        "decoder_input_tokens": rng.integers(4, small.VOCAB_SIZE, (1, 9)),
        "source_segments": np.array([[1] * 7 + [2] * 4 + [0]]),
        "target_segments": np.array([[1] * 5 + [2] * 3 + [0]]),
        "source_positions": np.array([[*range(7), *range(4), 0]]),
        "target_positions": np.array([[*range(5), *range(3), 0]]),
    }


@pytest.mark.parametrize("batch", [small.batch(), _packed()], ids=["padded", "packed"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"kernel_width": 5, "tied_embeddings": "none"}, {"num_decoder_layers": 1}],
    ids=str,
)
def test_logits_and_weights_agree_with_the_reference(changes, batch):
    model, params = _build(**changes)
    logits, state = _run(model, params, batch, mutable="intermediates")
    expected, weights = reference(params, **batch)
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    layers = state["intermediates"]["decoder"]
    assert len(layers) == len(weights) == model.config.num_decoder_layers
    for i, of_layer in enumerate(weights):
        (sown,) = layers[f"layer_{i}"]["cross_attention"]["attention_weights"]
        np.testing.assert_allclose(sown, of_layer[:, None], atol=1e-5)


def test_gradients_of_the_encoder_are_divided_by_twice_the_attentions(monkeypatch):
    model, params = _build(tied_embeddings="none")

    def gradients():
        def loss(params):
            return jnp.square(small.run(model, params, small.batch())).sum()

        return jax.jit(jax.grad(loss))(params)

    scaled = gradients()
    monkeypatch.setattr(convolutional, "scale_gradient", lambda x, factor: x)
    whole = gradients()

    def compare(factor, *parts):
        for name in parts:
            jax.tree.map(
                lambda one, other: np.testing.assert_allclose(
                    one, other * factor, rtol=1e-4, atol=1e-4
                ),
                scaled[name],
                whole[name],
            )

    compare(1 / 6, "encoder")
    compare(1, "decoder", "target_embedding", "target_positions", "output_embedding")
    # The way past the encoder is as it was.
    ratio = np.linalg.norm(scaled["source_embedding"]["embedding"]) / np.linalg.norm(
        whole["source_embedding"]["embedding"]
    )
    assert ratio > 0.2


def test_states_start_with_the_spread_of_the_embeddings():
    """Section 3.5: blocks change the variance little, however many there are."""
    sizes = {"d_model": 128, "num_channels": 128, "num_encoder_layers": 12}
    model = Convolutional(_config(**sizes, dropout_rate=0.2, max_positions=64))
    rows = np.random.default_rng(0).integers(4, small.VOCAB_SIZE, (2, 64))
    memory = _run(
        model,
        init_params(model, jax.random.key(0)),
        {"source_tokens": rows, "source_segments": np.ones_like(rows)},
        method="encode",
        dropout=dropout_bits(jax.random.key(1), 2),
    )
    embedded = memory.value - memory.key
    kept = 0.8
    assert np.std(embedded) == pytest.approx(0.1 * (2 / kept) ** 0.5, rel=0.05)
    assert np.std(memory.key) == pytest.approx(0.1 * 2**0.5, rel=0.2)


def test_stacked_layers_give_the_same_logits():
    model, params = _build()
    stacked = stack_layers(params, model.layer_stacks)
    for dropout in (None, dropout_bits(jax.random.key(3), 2)):
        np.testing.assert_allclose(
            _run(model, stacked, small.batch(), dropout=dropout),
            _run(model, params, small.batch(), dropout=dropout),
            atol=1e-5,
        )


def test_bfloat16_stays_near_float32():
    model, params = _build()
    half, _ = _build(dtype="bfloat16")
    expected = _run(model, params, small.batch())
    logits = _run(half, params, small.batch())
    assert logits.dtype == jnp.bfloat16
    # bfloat16 keeps 8 bits, and errors add up over the layers.
    np.testing.assert_allclose(logits, expected, rtol=0.1, atol=0.1)


def test_a_window_without_a_middle_is_refused():
    with pytest.raises(UserError, match="kernel_width=4 is even.*odd"):
        _config(kernel_width=4)


def test_no_sentence_may_be_longer_than_the_table_of_positions():
    assert _config().longest_length == 16
    model, params = _build(max_positions=6)
    with pytest.raises(UserError, match="Raise max_positions to 7"):
        _run(model, params, small.batch())
