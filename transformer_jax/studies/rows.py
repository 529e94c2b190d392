"""What a study measured, picked out of its rows."""

from collections.abc import Sequence
from typing import Any

from transformer_jax.reports.render import Row


def values(rows: Sequence[Row], name: str, **chosen: Any) -> list[Any]:
    """Return a value of the rows that have it, and these others beside it."""
    return [
        row[name]
        for row in rows
        if row.get(name) is not None
        and all(row.get(key) == value for key, value in chosen.items())
    ]


def distinct(rows: Sequence[Row], name: str, **chosen: Any) -> list[Any]:
    """Return such values each once, in the order in which they come."""
    return list(dict.fromkeys(values(rows, name, **chosen)))
