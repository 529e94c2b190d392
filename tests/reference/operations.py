"""The operations of a traced program, product by product."""

import math

import jax


def _inner_programs(equation):
    """Return the programs that an equation calls."""
    values = jax.tree.leaves(
        list(equation.params.values()),
        is_leaf=lambda value: hasattr(value, "eqns") or hasattr(value, "jaxpr"),
    )
    programs = (getattr(value, "jaxpr", value) for value in values)
    return [program for program in programs if hasattr(program, "eqns")]


def product_flops(jaxpr):
    """Add up the products of a program; a scan's body counts for each iteration."""
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            left, out = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
            total += 2 * math.prod(out) * math.prod(left[axis] for axis in contracted)
            continue
        inner = sum(map(product_flops, _inner_programs(equation)))
        assert not inner or equation.primitive.name not in ("while", "cond"), (
            f"how often does this {equation.primitive.name} run?"
        )
        total += inner * equation.params.get("length", 1)
    return total
