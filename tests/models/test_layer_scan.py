import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from transformer_jax.models.dropout import dropout_bits
from transformer_jax.models.parameters import init_params
from transformer_jax.models.transformer import Transformer

_LAYERS = {"num_encoder_layers": 3, "num_decoder_layers": 2}


def _both(**changes):
    """Return the model with its layers one by one and as one program."""
    return [
        Transformer(small.config(**_LAYERS, layer_scan=scan, **changes))
        for scan in ("never", "always")
    ]


def _gradients(model, params, dropout):
    def total(params):
        logits = small.run(model, params, small.batch(), dropout=dropout)
        return jnp.sum(jnp.sin(logits)), logits

    return jax.grad(total, has_aux=True)(params)


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_scanned_layers_give_the_same_logits_and_gradients(norm_position):
    unrolled, scanned = _both(
        norm_position=norm_position,
        dropout_rate=0.3,
        attention_dropout_rate=0.2,
        feed_forward_dropout_rate=0.4,
    )
    params = small.random_params(unrolled)
    bits = dropout_bits(jax.random.key(3), 2)
    for dropout in (None, bits):
        grads, logits = _gradients(unrolled, params, dropout)
        scanned_grads, scanned_logits = _gradients(scanned, params, dropout)
        np.testing.assert_allclose(scanned_logits, logits, atol=1e-5)
        # Sums over another order; the gradients reach up to a hundred.
        jax.tree.map(
            lambda one, other: np.testing.assert_allclose(one, other, atol=1e-3),
            scanned_grads,
            grads,
        )


def test_scanned_layers_are_one_program():
    unrolled, scanned = _both()
    params = small.random_params(unrolled)

    def num_products(model):
        run = jax.jit(lambda params: small.run(model, params, small.batch()))
        return run.lower(params).as_text().count("dot_general")

    # Five layers against one of each stack, with 4 + 2 and 4 + 4 + 2 products and 2
    # scores and averages for each attention; and the logits. QKV is one, KV is one.
    assert num_products(unrolled) == 3 * 6 + 2 * 11 + 1
    assert num_products(scanned) == 6 + 11 + 1


def test_parameters_have_the_same_names_and_values_however_layers_are_compiled():
    one, other = (init_params(model, jax.random.key(0)) for model in _both())
    jax.tree.map(np.testing.assert_array_equal, one, other)
    assert {"layer_0", "layer_1", "layer_2"} <= set(other["encoder"])


def test_scanned_layers_show_their_weights_each():
    _, scanned = _both()
    params = small.random_params(scanned)
    _, state = small.run(scanned, params, small.batch(), mutable="intermediates")
    assert len(state["intermediates"]["encoder"]) == 3
