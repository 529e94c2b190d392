"""Paths that people give; files that are whole or absent, come what may, and say so."""

import contextlib
import hashlib
import json
import logging
import os
import pathlib
import platform
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from transformer_jax.errors import UserError

_LOGGER = logging.getLogger(__name__)
# NAME.PROCESS@HOST.partial; older programs left the host out.
_PARTIAL = re.compile(r".+\.(?P<process>[0-9]+)(@(?P<host>.+))?\.partial")
# A write that another host has not touched for so long has lost its process.
_ABANDONED_SECONDS = 3600.0
_CHECKSUM = "checksum"


def as_path(path: str | os.PathLike[str]) -> pathlib.Path:
    """Return a path that a person gave; "~" is the home directory, as in a shell.

    Raises:
      UserError: if the path is empty, there is no such home, or it is not UTF-8.
    """
    if not os.fspath(path):
        raise UserError(
            "A path is empty, as one from a shell's variable that is not set. Give a "
            "path; . is the current directory."
        )
    expanded = os.path.expanduser(path)
    if expanded.startswith("~"):
        name = pathlib.PurePath(path).parts[0]
        raise UserError(
            f"{os.fspath(path)}: there is no home directory {name}. Write the whole "
            f"path, from / on, also where a file is called {name}."
        )
    try:
        expanded.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{expanded!r}: the name is not UTF-8, and could not be written down. "
            "Rename it, for example with `convmv -f ISO-8859-1 -t UTF-8 --notest`."
        ) from error
    return pathlib.Path(expanded)


@contextlib.contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a neighbour of `path` for writing and give it its name once it is whole.

    Raises:
      UserError: if the folder cannot be written or the disk is full.
    """
    path = as_path(path)
    # Process and host keep two writers of one file apart.
    writer = f"{os.getpid()}@{platform.node()}"
    partial = path.with_name(f"{path.name}.{writer}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        if error.errno is None:  # Not from the system: a broken gzip that was read.
            raise
        is_in_the_way = isinstance(
            error, FileExistsError | IsADirectoryError | NotADirectoryError
        )
        first = "Move away what stands there" if is_in_the_way else "Free some space"
        raise UserError(
            f"Cannot write {path}: {error.strerror or error}. {first}, or choose "
            "another directory."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def remove_partials(directory: str | os.PathLike[str]) -> None:
    """Remove what processes that were killed have left of their writes.

    To be called before this process writes anything into `directory`.
    """
    for path in pathlib.Path(directory).rglob("*.partial"):
        with contextlib.suppress(OSError):  # Its process may end while we look.
            if _is_abandoned(path):
                path.unlink()
                _LOGGER.info("Removed %s, which a killed process left", path)


def _is_abandoned(path: pathlib.Path) -> bool:
    name = _PARTIAL.fullmatch(path.name)
    if name is None or not path.is_file():
        return False
    if name["host"] != platform.node():
        return time.time() - path.stat().st_mtime > _ABANDONED_SECONDS
    process = int(name["process"])
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write `value` so that a reader sees the old file or the new one, never a part."""
    with write_atomically(path) as file:
        file.write(json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """Return what `write_json` writes."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def with_checksum(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with a checksum of the rest of it as its last entry."""
    return {**value, _CHECKSUM: _checksum(value)}


def without_checksum(value: object) -> dict[str, Any] | None:
    """Return what `with_checksum` was given; None if this is not as it made it.

    An object that has no checksum, as older programs wrote them, is returned as it is.
    """
    if not isinstance(value, dict):
        return None
    rest = {name: entry for name, entry in value.items() if name != _CHECKSUM}
    return rest if value.get(_CHECKSUM, _checksum(rest)) == _checksum(rest) else None


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return what a file of JSON holds; None if it is missing, or not JSON."""
    try:
        return json.loads(pathlib.Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def read_checked_json(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read a `with_checksum` object from a file.

    Returns:
      Without its checksum; None if the file is missing, or not as it was written.
    """
    return without_checksum(read_json(path))


def _checksum(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
