"""The rows of metrics.jsonl, as `writers.JsonLinesWriter` writes them."""

import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any


def read_rows(path: str | os.PathLike[str]) -> Iterator[Mapping[str, Any]]:
    """Yield each row: its "step", and quantities by names such as "train/loss".

    A run in training, or one that was killed, may have written half of the last line:
    what is no JSON object with a step is passed over.

    Args:
      path: of the file; one that is missing has no rows.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(row, dict) and isinstance(row.get("step"), int):
                yield row
