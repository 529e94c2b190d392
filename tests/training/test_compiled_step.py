import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.sharding.mesh import (
    batch_sharding,
    make_mesh,
    placed_shapes,
    replicated,
    shard_batch,
)
from transformer_jax.training import compiled_step
from transformer_jax.training.compiled_step import compiling_ahead


def make_counted_step():
    """Return a jitted step, and a list that grows by a shape with each tracing."""
    traced = []

    def step(state, batch, rng):
        traced.append(batch["x"].shape)
        return state + batch["x"].sum(), jax.random.bits(rng)

    return jax.jit(step, donate_argnums=0), traced


@pytest.fixture(name="mesh")
def _mesh():
    return make_mesh(jax.devices()[:2])


def put(mesh, rows, length):
    return shard_batch({"x": np.ones((rows, length), np.float32)}, mesh)


def compiling(step, mesh, state, batches, rng):
    return compiling_ahead(
        step,
        placed_shapes(state, replicated(mesh)),
        [placed_shapes(batch, batch_sharding(mesh)) for batch in batches],
        placed_shapes(rng, replicated(mesh)),
    )


def test_every_shape_is_compiled_once_whether_it_was_named_or_not(mesh):
    step, traced = make_counted_step()
    state, rng = jax.device_put((jnp.zeros(()), jax.random.key(0)), replicated(mesh))
    named = [put(mesh, 2, 3), put(mesh, 4, 5)]
    expected_bits = jax.random.bits(jax.random.key(0))
    with compiling(step, mesh, state, named, rng) as compiled:
        for rows, length in [(4, 5), (2, 3), (2, 7), (4, 5), (2, 7), (2, 3)]:
            state, bits = compiled(state, put(mesh, rows, length), rng)
            assert bits == expected_bits
    assert float(state) == 2 * (20 + 6 + 14)
    assert sorted(traced) == [(2, 3), (2, 7), (4, 5)]


def test_steps_count_how_long_they_wait_for_their_programs(mesh, monkeypatch):
    # Begun; asked and there after 5 s, reported; asked and there at once.
    clock = iter([0.0, 1.0, 6.0, 6.0, 9.0, 9.0])
    monkeypatch.setattr(
        compiled_step, "time", types.SimpleNamespace(monotonic=lambda: next(clock))
    )
    step, _ = make_counted_step()
    state, rng = jax.device_put((jnp.zeros(()), jax.random.key(0)), replicated(mesh))
    batch = put(mesh, 2, 3)
    with compiling(step, mesh, state, [batch], rng) as compiled:
        for _ in range(2):
            state, _ = compiled(state, batch, rng)
            assert compiled.waited_seconds == 5.0


def test_a_failure_to_compile_is_raised_by_the_step_that_needs_the_program(mesh):
    def step(state, batch, rng):
        if batch["x"].shape[1] == 3:
            raise ValueError("no program for three")
        return state, rng

    step = jax.jit(step)
    state, rng = jax.device_put((jnp.zeros(()), jax.random.key(0)), replicated(mesh))
    named = [put(mesh, 2, 3), put(mesh, 2, 5)]
    with compiling(step, mesh, state, named, rng) as run:
        run(state, put(mesh, 2, 5), rng)
        with pytest.raises(ValueError, match="no program for three"):
            run(state, put(mesh, 2, 3), rng)
