"""The one exception that a person, not a programmer, is meant to read."""


class UserError(ValueError):
    """A file, a config or an argument that cannot be used as it was given.

    The message says what was given, what was expected and what to do. Commands print it
    without a traceback and exit with code 1.
    """
