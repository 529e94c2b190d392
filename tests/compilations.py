"""How many programs are compiled."""

import contextlib
from collections.abc import Callable, Iterator

import jax

_EVENT = "/jax/core/compile/backend_compile_duration"
_compiled: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, _seconds, **_: _compiled.append(name) if name == _EVENT else None
)


@contextlib.contextmanager
def count_compilations() -> Iterator[Callable[[], int]]:
    """Yield what tells how many programs were compiled, or loaded, in the body so far.

    JAX's own small ones count as well: what is compiled twice shows, wherever it is.
    """
    before = len(_compiled)
    yield lambda: len(_compiled) - before
