"""Between a config and what it configures: which section an argument is a field of."""

import contextlib
from collections.abc import Iterator

from transformer_jax.errors import UserError


@contextlib.contextmanager
def naming(section: str) -> Iterator[None]:
    """Put the section's name in front of a message that names its fields.

    What lies below knows its own arguments alone.
    """
    try:
        yield
    except UserError as error:
        raise UserError(f"{section}: {error}") from error
