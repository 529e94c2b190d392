"""What a step computes in: read off the program that XLA is given."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.program_text import product_types
from tests.tiny_model import tiny_model
from tests.training.toy import make_batch
from transformer_jax.models.dropout import dropout_bits
from transformer_jax.models.layer_scan import stack_layers
from transformer_jax.models.layers import flat_product
from transformer_jax.tasks.objective import translation_objective
from transformer_jax.training.step import gradients


def products_of(dtype, num_micro_batches=1, is_stacked=False):
    """Return (type of either factor, type of the result) of a step's products."""
    model, params = tiny_model()
    if is_stacked:
        params = stack_layers(params, model.layer_stacks)
    model = type(model)(dataclasses.replace(model.config, dtype=dtype))
    loss_fn = translation_objective(model, label_smoothing=0.1)
    batch = make_batch()
    bits = dropout_bits(jax.random.key(0), batch.target_tokens.shape[0])
    program = jax.jit(
        lambda params, batch, bits: gradients(
            params,
            batch,
            bits,
            loss_fn=loss_fn,
            num_micro_batches=num_micro_batches,
        )
    ).lower(params, batch, bits)
    return product_types(program.as_text())


@pytest.mark.parametrize("num_micro_batches", [1, 2])
@pytest.mark.parametrize("is_stacked", [False, True])
def test_under_bfloat16_no_product_has_a_float32_factor(num_micro_batches, is_stacked):
    found = products_of("bfloat16", num_micro_batches, is_stacked)
    assert {factors[:2] for factors in found} == {("bf16", "bf16")}
    # The gradients of kernels alone are wide: they are sums over the batch.
    num_wide = sum(result == "f32" for *_, result in found)
    assert 0 < num_wide <= len(found) // 3


def test_under_float32_every_product_is_float32():
    assert set(products_of("float32")) == {("f32", "f32", "f32")}


def test_a_kernels_gradient_is_summed_before_it_is_rounded():
    # 1 and 256 addends of 2^-8: each alone would vanish beside the 1 in bfloat16.
    x = jnp.array([[1.0], *[[2.0**-8]] * 256])
    kernel = jnp.ones((1, 1))
    gradient = jax.grad(
        lambda kernel: (
            flat_product(x, kernel, 1, jnp.bfloat16).astype(jnp.float32).sum()
        )
    )(kernel)
    assert gradient.dtype == jnp.float32
    np.testing.assert_array_equal(gradient, [[2.0]])
    # 1 + 2^-8 + ... is exact in float32, and needs a ninth bit.
    gradient = jax.grad(
        lambda kernel: (
            flat_product(x[:2], kernel, 1, jnp.bfloat16).astype(jnp.float32).sum()
        )
    )(kernel)
    np.testing.assert_array_equal(gradient, [[1 + 2.0**-8]])
