"""A state, batches and a loss small enough to work out by hand."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.data.batch import Batch
from transformer_jax.evaluation.means import Ratio
from transformer_jax.training.optimizer import constant, make_optimizer
from transformer_jax.training.state import TrainState, create_state
from transformer_jax.training.step import train_step


def make_batch(
    seed: int = 0,
    num_rows: int = 8,
    source_length: int = 5,
    target_length: int = 7,
    vocab_size: int = 11,
) -> Batch:
    """Random tokens; row i has i + 1 real target tokens at most, the last row none."""
    rng = np.random.default_rng(seed)
    source = rng.integers(4, vocab_size, (num_rows, source_length), dtype=np.int32)
    target = rng.integers(4, vocab_size, (num_rows, target_length), dtype=np.int32)
    lengths = np.minimum(np.arange(num_rows) + 1, target_length)
    lengths[-1] = 0
    columns = np.arange(target_length, dtype=np.int32)
    is_target = columns[None, :] < lengths[:, None]
    is_source = np.broadcast_to(lengths[:, None] > 0, source.shape)
    positions = np.broadcast_to(np.arange(source_length, dtype=np.int32), source.shape)
    decoder_input = np.concatenate(
        [np.ones((num_rows, 1), np.int32), target[:, :-1]], 1
    )
    return Batch(
        source_tokens=source * is_source,
        source_segments=is_source.astype(np.int32),
        source_positions=positions * is_source,
        decoder_input_tokens=decoder_input * is_target,
        target_tokens=target * is_target,
        target_segments=is_target.astype(np.int32),
        target_positions=np.broadcast_to(columns, target.shape) * is_target,
        loss_weights=is_target.astype(np.float32),
    )


def batches_from(step: int) -> Iterator[Batch]:
    while True:
        yield make_batch(step)
        step += 1


def toy_loss(params: Any, batch: Batch, bits: Any) -> Any:
    """A squared error on token numbers, with noise per global row if there are bits."""
    guess = params["scale"] * batch.decoder_input_tokens / 10 + params["shift"]
    if bits is not None:
        noise = jnp.sin(bits.rows.astype(jnp.float32) + (bits.seed % 97))
        guess = guess + 0.1 * noise[:, None]
    error = (guess - batch.target_tokens / 10) ** 2 * batch.loss_weights
    loss_sum, weight_sum = jnp.sum(error), jnp.sum(batch.loss_weights)
    sums = {
        "loss": Ratio(loss_sum, weight_sum),
        "target_tokens": weight_sum,
    }
    return loss_sum, (weight_sum, sums)


OPTIMIZER = make_optimizer(beta1=0.9, beta2=0.98, epsilon=1e-9)
SCHEDULE = constant(0.01)


def make_state(use_ema: bool = False) -> TrainState:
    params = {"scale": jnp.full((1, 1), 0.5), "shift": jnp.zeros((1, 1))}
    return create_state(params, OPTIMIZER, use_ema)


def make_step(**options: Any) -> Callable[..., Any]:
    options = {
        "loss_fn": toy_loss,
        "optimizer": OPTIMIZER,
        "schedule": SCHEDULE,
        **options,
    }
    return jax.jit(functools.partial(train_step, **options), donate_argnums=0)


def random_state(num: int, use_ema: bool = False, seed: int = 0) -> TrainState:
    """A state of about three times `num` random numbers."""
    rng = np.random.default_rng(seed)
    kernel = jnp.asarray(rng.standard_normal((num // 100, 100)), jnp.float32)
    state = create_state({"layer_0": {"kernel": kernel}}, OPTIMIZER, use_ema)
    noisy = jax.tree.map(
        lambda leaf: leaf + jnp.asarray(rng.standard_normal(leaf.shape), leaf.dtype),
        state,
    )
    return dataclasses.replace(noisy, step=state.step, num_skipped=state.num_skipped)


def assert_same(actual: Any, expected: Any) -> None:
    """Check that two trees agree bit for bit."""
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for got, wanted in zip(
        jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True
    ):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))
