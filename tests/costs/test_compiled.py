import jax
import jax.numpy as jnp
import pytest

from transformer_jax.costs.compiled import compiled_flops


def test_a_product_is_counted():
    shapes = [jax.ShapeDtypeStruct(shape, float) for shape in ((30, 50), (50, 70))]
    assert compiled_flops(jnp.dot, *shapes) == 2 * 30 * 50 * 70


@pytest.mark.parametrize("unroll", [1, 4, 11, 20])
def test_a_scan_counts_for_each_iteration(unroll):
    def step(state, _):
        return jnp.dot(state, jnp.ones((30, 30))), None

    count = compiled_flops(
        lambda x: jax.lax.scan(step, x, length=11, unroll=unroll)[0], jnp.ones((3, 30))
    )
    assert count == pytest.approx(11 * 2 * 3 * 30 * 30, rel=0.01)


def test_a_scan_within_a_scan_counts_as_often_as_it_runs():
    def inner(state, _):
        return jnp.dot(state, jnp.ones((30, 30))), None

    def outer(state, _):
        return jax.lax.scan(inner, state, length=5)[0], None

    count = compiled_flops(
        lambda x: jax.lax.scan(outer, x, length=7)[0], jnp.ones((3, 30))
    )
    assert count == pytest.approx(35 * 2 * 3 * 30 * 30, rel=0.01)
