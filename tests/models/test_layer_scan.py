import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from transformer_jax.models.dropout import dropout_bits
from transformer_jax.models.layer_scan import stack_layers, unstack_layers

_LAYERS = {"num_encoder_layers": 3, "num_decoder_layers": 2}


def _build(**changes):
    return small.build(**_LAYERS, **changes)


def _stacked(model, params):
    return stack_layers(params, model.layer_stacks)


def _gradients(model, params, dropout):
    def total(params):
        logits = small.run(model, params, small.batch(), dropout=dropout)
        return jnp.sum(jnp.sin(logits)), logits

    return jax.grad(total, has_aux=True)(params)


@pytest.mark.parametrize(
    "changes", [{"norm_position": "pre"}, {"norm_position": "post"}, {"window": 3}]
)
def test_stacked_layers_give_the_same_logits_and_gradients(changes):
    model, params = _build(
        **changes,
        dropout_rate=0.3,
        attention_dropout_rate=0.2,
        feed_forward_dropout_rate=0.4,
    )
    for dropout in (None, dropout_bits(jax.random.key(3), 2)):
        grads, logits = _gradients(model, params, dropout)
        of_stacked, stacked_logits = _gradients(model, _stacked(model, params), dropout)
        np.testing.assert_allclose(stacked_logits, logits, atol=1e-5)
        # Sums in another order; the gradients reach up to a hundred.
        jax.tree.map(
            lambda one, other: np.testing.assert_allclose(one, other, atol=1e-3),
            unstack_layers(of_stacked, model.layer_stacks),
            grads,
        )


def test_stacked_layers_are_one_program():
    model, params = _build(attention_projections="joint")

    def num_products(params):
        run = jax.jit(lambda params: small.run(model, params, small.batch()))
        return run.lower(params).as_text().count("dot_general")

    # QKV or KV is one product; scores and averages are two; and then the logits.
    assert num_products(params) == 3 * 6 + 2 * 11 + 1
    assert num_products(_stacked(model, params)) == 6 + 11 + 1


def test_stacking_is_undone_by_unstacking():
    model, params = _build()
    stacked = _stacked(model, params)
    assert stacked["encoder"]["layers"]["self_attention"]["query"]["kernel"].shape == (
        *(3, 12, 3, 5),
    )
    jax.tree.map(
        np.testing.assert_array_equal,
        unstack_layers(stacked, model.layer_stacks),
        params,
    )
