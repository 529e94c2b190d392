"""TensorFlow Datasets without TensorFlow: the two places that still ask for it.

Since 4.9, TFDS downloads, writes and reads array_record files without TensorFlow, but
unpacking an archive and sorting a split of more than about a gigabyte use a few of its
file functions. Python's own do the same for local files, so those two modules of TFDS
get a small stand-in; nothing pretends to be TensorFlow elsewhere.
"""

import errno
import importlib
import importlib.util
import os
import types
from typing import IO, Any

# The version that the stand-in was written for; setup.cfg holds TFDS to it.
TFDS_VERSION = (4, 9)
PATCHED_MODULES = (
    "tensorflow_datasets.core.download.extractor",
    "tensorflow_datasets.core.shuffle",
)


def import_tfds() -> Any:
    """Return the module `tensorflow_datasets`, able to do without TensorFlow."""
    tfds = importlib.import_module("tensorflow_datasets")
    if importlib.util.find_spec("tensorflow") is None:
        for name in PATCHED_MODULES:
            vars(importlib.import_module(name))["tf"] = STAND_IN
    return tfds


def _as_text(text: bytes | str) -> str:
    return text.decode() if isinstance(text, bytes) else text


def _open(path: str | os.PathLike[str], mode: str = "r") -> IO[Any]:
    """Open a local file, raising this process's limit of open files if that is it.

    Sorting keeps a thousand files open at once, which is a usual limit too.
    """
    encoding = None if "b" in mode else "utf-8"
    try:
        return open(path, mode, encoding=encoding)
    except OSError as error:
        if error.errno != errno.EMFILE or not _raise_open_file_limit():
            raise
        return open(path, mode, encoding=encoding)


def _raise_open_file_limit() -> bool:
    """Allow as many open files as the system lets us; False if it lets us no more."""
    import resource  # Not on every system.

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return True


class _NeverRaised(Exception):
    """For errors of TensorFlow's file functions that Python's do not have."""


STAND_IN = types.SimpleNamespace(
    compat=types.SimpleNamespace(as_text=_as_text),
    io=types.SimpleNamespace(
        gfile=types.SimpleNamespace(
            GFile=_open, exists=os.path.exists, remove=os.remove
        )
    ),
    errors=types.SimpleNamespace(ResourceExhaustedError=_NeverRaised),
)
