"""Gradients of the whole model's loss, against numpy's and PyTorch's."""

import pathlib

import flax.traverse_util
import jax
import numpy as np
import pytest

from tests.reference import gradient_case as case
from tests.reference.losses import smoothed_cross_entropy
from tests.reference.transformer import transformer
from transformer_jax.data.batch import Batch
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.dropout import dropout_bits
from transformer_jax.models.parameters import init_params
from transformer_jax.models.transformer import Transformer
from transformer_jax.tasks.objective import translation_objective
from transformer_jax.training.step import gradients

FOLDER = pathlib.Path(__file__).parent / "parity"
NUM_DIRECTIONS = 2
# The third-order term and float64's rounding both stay below 1e-6 at this step.
STEP = 1e-5


def _config(norm_position):
    return TransformerConfig(
        **case.SIZES, norm_position=norm_position, dropout_rate=0.0
    )


def _nested(params):
    return flax.traverse_util.unflatten_dict(params, sep="/")


@pytest.fixture(scope="module", params=["post", "pre"])
def result(request):
    """Where the norms stand, the mean loss, and its gradients by their path."""
    norm_position = request.param
    model = Transformer(_config(norm_position))
    loss_fn = translation_objective(model, label_smoothing=case.LABEL_SMOOTHING)
    params, batch = _nested(case.params(norm_position)), Batch(**case.batch())
    expected = jax.eval_shape(lambda: init_params(model, jax.random.key(0)))
    assert jax.tree.structure(params) == jax.tree.structure(expected)
    compute = jax.jit(lambda *args: gradients(*args, loss_fn=loss_fn))
    grads, sums = compute(params, batch, dropout_bits(jax.random.key(0), 4))
    return (
        norm_position,
        sums["loss"].total / sums["loss"].weight,
        flax.traverse_util.flatten_dict(grads, sep="/"),
    )


def _reference_loss(params, norm_position):
    batch = case.batch()
    targets, weights = batch.pop("target_tokens"), batch.pop("loss_weights")
    _, logits = transformer(_nested(params), _config(norm_position), **batch)
    total = smoothed_cross_entropy(logits, targets, weights, case.LABEL_SMOOTHING)
    return total / weights.sum()


def test_gradients_are_the_slopes_of_the_reference_in_random_directions(result):
    norm_position, loss, grads = result
    params = {
        path: array.astype(float) for path, array in case.params(norm_position).items()
    }
    np.testing.assert_allclose(loss, _reference_loss(params, norm_position), atol=1e-5)
    rng = np.random.default_rng(0)
    for path, array in params.items():
        for _ in range(NUM_DIRECTIONS):
            # Signs alone, so that an error of a single entry shows in full.
            direction = rng.choice([-1.0, 1.0], array.shape)
            ahead, behind = (
                _reference_loss(params | {path: moved}, norm_position)
                for moved in (array + STEP * direction, array - STEP * direction)
            )
            np.testing.assert_allclose(
                (grads[path] * direction).sum(),
                (ahead - behind) / (2 * STEP),
                atol=1e-5,
                err_msg=path,
            )


def test_loss_and_every_gradient_agree_with_torch(result):
    norm_position, loss, grads = result
    with np.load(FOLDER / "torch_gradients.npz") as file:
        arrays = {
            name.removeprefix(f"{norm_position}/"): file[name]
            for name in file.files
            if name.startswith(f"{norm_position}/")
        }
    # numpy may change what a seed gives; then the file has to be made again.
    start = case.params(norm_position).values()
    total = sum(array.sum(dtype=float) for array in start)
    np.testing.assert_allclose(total, arrays.pop("sum_of_weights"), atol=1e-9)
    np.testing.assert_allclose(loss, arrays.pop("loss"), atol=1e-5)
    assert {f"gradients/{path}" for path in grads} == set(arrays)
    for path, grad in grads.items():
        expected = arrays[f"gradients/{path}"]
        # Far above the tolerance, so that no gradient agrees by being small.
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(grad, expected, atol=1e-5, err_msg=path)
