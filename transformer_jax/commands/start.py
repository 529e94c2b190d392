"""How a program starts: what has to be settled before anything heavy is imported."""

import contextlib
import importlib
import io
import os
import platform
import signal
import sys
from collections.abc import Iterator, Mapping

from transformer_jax.commands.huge_pages import has_accelerator, with_huge_pages
from transformer_jax.commands.messages import EXIT_INTERRUPTED

_UTF8_MODE = "PYTHONUTF8"


def start(command: str) -> None:
    """Run a command by its name; for the entry points alone.

    Text, file names and messages are UTF-8 whatever the locale says, and Ctrl-C during
    the imports ends in one line.
    """
    with _ending_when_interrupted(command):
        restart()
        for stream, errors in (
            (sys.stdout, "surrogateescape"),
            (sys.stderr, "backslashreplace"),
        ):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors=errors)
        module = importlib.import_module(f"transformer_jax.commands.{command}")
    module.main()


def restart() -> None:
    """Replace this process by itself on huge pages and in UTF-8, where it is not.

    glibc and Python read the settings when a process starts. The number of the process,
    its files and its directory stay the same.
    """
    environment = with_huge_pages(os.environ, platform.libc_ver()[0], has_accelerator)
    environment = with_utf8(environment, sys.getfilesystemencoding())
    if environment != dict(os.environ):
        # A Ctrl-C that comes while Python starts waits until it is listened for.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def with_utf8(environment: Mapping[str, str], encoding: str) -> dict[str, str]:
    """Return the environment in which Python reads and writes UTF-8.

    Args:
      environment: the process's.
      encoding: that of file names, which follows the locale.
    """
    is_utf8 = encoding.lower() == "utf-8"
    return {**environment, **({} if is_utf8 else {_UTF8_MODE: "1"})}


@contextlib.contextmanager
def _ending_when_interrupted(command: str) -> Iterator[None]:
    """End the process at Ctrl-C at once, whatever is being imported.

    An exception would come out as what the import makes of it.
    """

    def end(number: int, frame: object) -> None:
        os.write(sys.stderr.fileno(), f"{command}: interrupted\n".encode())
        os._exit(EXIT_INTERRUPTED)

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # Else it is ignored, as by nohup's kin.
        signal.signal(signal.SIGINT, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    yield
    signal.signal(signal.SIGINT, before)
