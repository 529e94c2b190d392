"""The rows of metrics.jsonl: how one is written, and how all are read."""

import json
import logging
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from transformer_jax.files import with_checksum, without_checksum

_LOGGER = logging.getLogger(__name__)


def row_line(row: Mapping[str, Any]) -> str:
    """Return a row as the line that it is in the file."""
    return json.dumps(with_checksum(row)) + "\n"


def read_rows(path: str | os.PathLike[str]) -> Iterator[Mapping[str, Any]]:
    """Yield each row: its "step", and quantities by names such as "train/loss".

    Lines that are not as they were written are passed over, with one warning. A run in
    training, or one that was killed, may have written half of the last line.

    Args:
      path: of the file; one that is missing has no rows.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        return
    num_damaged = 0
    with path.open("rb") as lines:
        for line in lines:
            row = _read_row(line)
            if row is not None:
                yield row
            elif line.endswith(b"\n") and line.strip():
                num_damaged += 1
    if num_damaged:
        _LOGGER.warning(
            "%s: %d of its lines are damaged and left out", path, num_damaged
        )


def _read_row(line: bytes) -> dict[str, Any] | None:
    """Return a line's row; None if it is none, or not as it was written."""
    try:
        row = without_checksum(json.loads(line))
    except (ValueError, RecursionError):
        return None
    return row if row and isinstance(row.get("step"), int) else None
