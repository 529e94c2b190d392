"""What commands say, and how they end: logging, messages for people, exit codes."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator

from transformer_jax.errors import UserError

EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


@contextlib.contextmanager
def command(name: str) -> Iterator[None]:
    """Run a command's body: log to stderr, and end with a message, not a traceback.

    Exits with 1 for what a person can put right (`UserError`, and files that the system
    cannot read or write) and with 130 when interrupted. Anything else is a fault of the
    program and keeps its traceback.
    """
    _log_to_stderr()
    try:
        yield
    except UserError as error:
        _fail(name, str(error))
    except BrokenPipeError:
        # The reader of our output left, as `head` does: nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.filename is None and error.errno is None:
            raise
        _fail(name, f"{error.strerror or error}: {error.filename or 'no file named'}")
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


def _fail(name: str, message: str) -> None:
    print(f"{name}: error: {message}", file=sys.stderr)
    sys.exit(EXIT_ERROR)


def _log_to_stderr() -> None:
    """Show the project's messages, and of the libraries only their warnings."""
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(message)s", force=True
    )
    logging.getLogger("transformer_jax").setLevel(logging.INFO)
    logging.getLogger("absl").setLevel(logging.ERROR)
