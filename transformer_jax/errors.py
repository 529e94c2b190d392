"""The one exception that a person, not a programmer, is meant to read; and a hint."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A file, a config or an argument that cannot be used as it was given.

    The message says what was given, what was expected and what to do. Commands print it
    without a traceback and exit with code 1.
    """


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question, after a space, that names what was meant; "" if none is alike.

    Args:
      name: what was given.
      known: all that there is. Case, and hyphens before a name, make none alike.
    """
    names = {other.lstrip("-").lower(): other for other in known}
    alike = difflib.get_close_matches(name.lstrip("-").lower(), names, n=1)
    return f" Did you mean {names[alike[0]]}?" if alike else ""
