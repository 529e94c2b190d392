"""Operations of a program as XLA counts them in what it has compiled."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.extend.core as jex


def compiled_flops(function: Callable[..., Any], *arguments: Any) -> float | None:
    """Compile a function and ask XLA for its floating point operations.

    XLA counts the body of a loop once. What it counts of a scan's body, compiled by
    itself, is added for each further iteration.

    Args:
      function: of arrays.
      *arguments: trees of arrays or of their shapes; nothing is computed.

    Returns:
      The count, or None where XLA has none, as on some accelerators.
    """
    return _count(jax.make_jaxpr(function)(*arguments))[1]


def _count(program: Any) -> tuple[float, float] | tuple[None, None]:
    """Return XLA's count, and that with a scan's body as often as it runs."""
    compiled = jax.jit(jex.jaxpr_as_fun(program)).lower(*program.in_avals).compile()
    analysis = compiled.cost_analysis()
    if not analysis:
        return None, None
    once = total = analysis["flops"]
    for scan in _scans(program.jaxpr):
        body_once, body_total = _count(scan.params["jaxpr"])
        length, unroll = scan.params["length"], scan.params["unroll"]
        num_counted = length if unroll >= length else unroll + length % unroll
        total += length * body_total - num_counted * body_once
    return once, total


def _scans(jaxpr: Any) -> Iterator[Any]:
    """Yield the scans of a program, those inside of others left out."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scan":
            yield equation
            continue
        for value in equation.params.values():
            if isinstance(value, jex.ClosedJaxpr):
                yield from _scans(value.jaxpr)
