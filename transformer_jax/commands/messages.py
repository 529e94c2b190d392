"""What commands say, and how they end: logging, messages for people, exit codes."""

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

from transformer_jax.errors import UserError

EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


@contextlib.contextmanager
def command(name: str) -> Iterator[None]:
    """Run a command's body: log to stderr, and end with a message, not a traceback.

    Exits with 1 for what a person can put right (`UserError`, files that the system
    cannot read or write, devices that are missing or too small) and with 130 when
    interrupted. Anything else is a fault of the program and keeps its traceback.
    """
    _log_to_stderr()
    # A notebook leaves its own here, whose package may be missing; we open no window.
    os.environ["MPLBACKEND"] = "agg"
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except UserError as error:
        _fail(name, str(error))
    except BrokenPipeError:
        _drop_output()  # The reader of our output left, as `head` does: not our fault.
    except OSError as error:
        if error.filename is None and error.errno is None:
            raise
        what = error.strerror or str(error)
        _fail(name, f"{what}: {error.filename}" if error.filename else f"{what}.")
    except KeyboardInterrupt as interrupt:
        print(*[f"{name}: interrupted.", *interrupt.args], file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        if explanation := _explain_device(error):
            _fail(name, explanation)
        raise


def require_streams() -> None:
    """Make sure that there is something to read from and to write to.

    Raises:
      UserError: if either was closed.
    """
    if sys.stdin is None or sys.stdout is None:
        raise UserError(
            "Standard input or output is closed. Give both: < in.txt > out.txt"
        )


@contextlib.contextmanager
def terminations_as_interrupts() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, if they are heard."""
    before = {
        number: handler
        for number in (signal.SIGTERM, signal.SIGHUP)
        if (handler := signal.getsignal(number)) is not signal.SIG_IGN
    }
    for number in before:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fail(name: str, message: str) -> NoReturn:
    print(f"{name}: error: {message}", file=sys.stderr)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _drop_output()
    sys.exit(EXIT_ERROR)


def _drop_output() -> None:
    """Let go of what cannot be written: the exit would try again, and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain_device(error: Exception) -> str | None:
    """Say what to do if JAX has no device or too little memory; else return None."""
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
        return (
            "There is too little memory. Another program, as a training run, may hold "
            "that of the device: end it, or set JAX_PLATFORMS=cpu to do without. "
            f"({(str(error) or 'out of memory').splitlines()[0]})"
        )
    if "jax" in sys.modules:
        try:
            sys.modules["jax"].devices()
        except Exception:  # Of what is missing JAX says many things, or nothing.
            return (
                f"JAX finds no device for JAX_PLATFORMS="
                f"{os.environ.get('JAX_PLATFORMS', '')}. Unset it to use what is "
                "there, set it to cpu, or install JAX for the device that it names."
            )
    return None


def _log_to_stderr() -> None:
    """Show the project's messages, and of the libraries only their warnings."""
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(message)s", force=True
    )
    logging.getLogger("transformer_jax").setLevel(logging.INFO)
    logging.getLogger("absl").setLevel(logging.ERROR)
