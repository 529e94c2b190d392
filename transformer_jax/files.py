"""Files that are either whole or absent, whenever the process dies."""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from transformer_jax.errors import UserError


@contextlib.contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a neighbour of `path` for writing and give it its name once it is whole.

    Raises:
      UserError: if the folder cannot be written or the disk is full.
    """
    path = pathlib.Path(path)
    # The process number keeps two writers of one file apart.
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
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
        raise UserError(
            f"Cannot write {path}: {error.strerror or error}. Free some space, or "
            "choose another directory."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write `value` so that a reader sees the old file or the new one, never a part."""
    with write_atomically(path) as file:
        file.write((json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())
