"""Folders named by steps, each with a list of checksums that says that it is whole."""

import hashlib
import json
import logging
import pathlib
import shutil
from collections.abc import Iterable

from transformer_jax.files import write_atomically

_LOGGER = logging.getLogger(__name__)
CHECKSUMS = "checksums.json"


def write_checksums(folder: pathlib.Path) -> None:
    """List every file of `folder` with its size and SHA-256, all or nothing."""
    sums = {str(path.relative_to(folder)): _checksum(path) for path in _files(folder)}
    with write_atomically(folder / CHECKSUMS) as file:
        file.write(json.dumps(sums, indent=1).encode())


def is_finished(folder: pathlib.Path) -> bool:
    """Say whether `folder` was written to its end, without reading it."""
    return (folder / CHECKSUMS).is_file()


def find_damage(folder: pathlib.Path) -> str | None:
    """Read all of `folder` and say what is wrong with it; None where nothing is."""
    if not is_finished(folder):
        return f"its saving did not come to an end ({CHECKSUMS} is missing)"
    try:
        expected = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
        present = {str(path.relative_to(folder)) for path in _files(folder)}
        if missing := expected.keys() - present:
            return f"{min(missing)} is missing"
        for name, checksum in expected.items():
            if _checksum(folder / name) != checksum:
                return f"{name} has changed since it was written"
    except (OSError, ValueError, AttributeError, TypeError) as error:
        return f"it cannot be read ({error})"
    return None


def all_steps(parent: pathlib.Path) -> list[int]:
    """Return the numbers that name folders in `parent`, in order."""
    if not parent.is_dir():
        return []
    return sorted(int(path.name) for path in parent.iterdir() if path.name.isdigit())


def finished_steps(parent: pathlib.Path) -> list[int]:
    """Return those of them that were written to their end."""
    return [step for step in all_steps(parent) if is_finished(parent / str(step))]


def newest_whole(parent: pathlib.Path, steps: Iterable[int]) -> int | None:
    """Return the newest step without damage; warn of those passed over."""
    for step in sorted(steps, reverse=True):
        damage = find_damage(parent / str(step))
        if damage is None:
            return step
        _LOGGER.warning("Skipping checkpoint %s: %s.", parent / str(step), damage)
    return None


def remove(folder: pathlib.Path) -> None:
    """Remove a folder, if it is there."""
    # The list first: what is half removed must not look finished.
    (folder / CHECKSUMS).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _files(folder: pathlib.Path) -> list[pathlib.Path]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if path.name != CHECKSUMS)


def _checksum(path: pathlib.Path) -> dict[str, int | str]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}
