"""Folders named by steps, each with a list of checksums that says that it is whole."""

import hashlib
import json
import logging
import pathlib
import re
import shutil
import time
from collections.abc import Iterable

from transformer_jax.files import write_atomically

_LOGGER = logging.getLogger(__name__)
CHECKSUMS = "checksums.json"
# STEP, or what Orbax calls it until it is written; some versions add a number.
_NAME = re.compile(r"([0-9]+)(\.orbax-checkpoint-tmp.*)?")
# Seconds between tries to remove a folder, five in all.
_PAUSES = tuple(0.01 * 2**n for n in range(9))


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
    """Return the steps that name folders in `parent`, in order."""
    saves = saves_in(parent).items()
    return sorted(step for folder, step in saves if folder.name == str(step))


def finished_steps(parent: pathlib.Path) -> list[int]:
    """Return those of them that were written to their end."""
    return [step for step in all_steps(parent) if is_finished(parent / str(step))]


def saves_in(parent: pathlib.Path) -> dict[pathlib.Path, int]:
    """Return the folder of each save, begun or ended, with its step; nothing else."""
    folders = (path for path in parent.glob("*") if path.is_dir())
    names = {folder: _NAME.fullmatch(folder.name) for folder in folders}
    return {folder: int(name[1]) for folder, name in names.items() if name}


def newest_whole(parent: pathlib.Path, steps: Iterable[int]) -> int | None:
    """Return the newest step without damage; warn of those passed over."""
    for step in sorted(steps, reverse=True):
        damage = find_damage(parent / str(step))
        if damage is None:
            return step
        _LOGGER.warning("Skipping checkpoint %s: %s.", parent / str(step), damage)
    return None


def remove(folder: pathlib.Path) -> None:
    """Remove a folder, if it is there; say so if it cannot be.

    A write that ends meanwhile may put a file where all had just been removed, and on
    a network a file that is still open stays under another name. So what is left is
    removed again, until the folder is gone or the tries are used up.
    """
    # The list first: what is half removed must not look finished.
    (folder / CHECKSUMS).unlink(missing_ok=True)
    for pause in _PAUSES:
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(pause)
    try:
        shutil.rmtree(folder)
    except OSError as error:
        _LOGGER.warning(
            "%s is of no more use and takes up room, but could not be removed (%s). "
            "Remove it by hand, or leave it to the next save.",
            folder,
            error,
        )


def _files(folder: pathlib.Path) -> list[pathlib.Path]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if path.name != CHECKSUMS)


def _checksum(path: pathlib.Path) -> dict[str, int | str]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}
