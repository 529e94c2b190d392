"""Folders named by steps, each with a list of checksums that says that it is whole."""

import contextlib
import itertools
import json
import logging
import pathlib
import re
import shutil
import time
from collections.abc import Iterable
from typing import Any

from transformer_jax.files import sha256_of, write_atomically

_LOGGER = logging.getLogger(__name__)
CHECKSUMS = "checksums.json"
NOTE = "step.json"
UNFINISHED = f"its saving did not come to an end ({CHECKSUMS} is missing)"
# STEP, or what Orbax calls it until it is written; some versions add a number.
_BEGUN = ".orbax-checkpoint-tmp"
_NAME = re.compile(rf"(0|[1-9][0-9]*)({re.escape(_BEGUN)}.*)?")
# One of these is in every folder that a save has ended in; others' folders have none.
_MARKS = (NOTE, CHECKSUMS, "_CHECKPOINT_METADATA", "_METADATA")
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
        return UNFINISHED
    try:
        expected = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
        present = {str(path.relative_to(folder)) for path in _files(folder)}
        if NOTE not in expected:
            return f"{CHECKSUMS} does not list {NOTE}"
        if missing := expected.keys() - present:
            return f"{min(missing)} is missing"
        for name, checksum in expected.items():
            if _checksum(folder / name) != checksum:
                return f"{name} has changed since it was written"
        step = read_note(folder)["step"]
        if step != int(folder.name):
            return f"it is a copy of step {step}"
    except (OSError, ValueError, LookupError, AttributeError, TypeError) as error:
        return f"it cannot be read ({error})"
    return None


def read_note(folder: pathlib.Path) -> dict[str, Any]:
    """Return what `folder` says of itself."""
    return json.loads((folder / NOTE).read_text(encoding="utf-8"))


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
    return {
        folder: int(name[1])
        for folder, name in names.items()
        if name and (name[2] or _is_save(folder))
    }


def make_way(path: pathlib.Path) -> None:
    """Give another name to what lies where a save will go and is none."""
    if path.exists() and not (path.is_dir() and _is_save(path)):
        number = next(n for n in itertools.count(1) if not _renamed(path, n).exists())
        path.rename(_renamed(path, number))
        _LOGGER.warning(
            "%s is no checkpoint, but bears the name of one that is about to be "
            "saved; it is called %s now.",
            path,
            _renamed(path, number).name,
        )


def _renamed(path: pathlib.Path, number: int) -> pathlib.Path:
    return path.with_name(f"{path.name}.other{number}")


def _is_save(folder: pathlib.Path) -> bool:
    return any((folder / name).exists() for name in _MARKS)


def newest_whole(parent: pathlib.Path, steps: Iterable[int]) -> int | None:
    """Return the newest step without damage; warn of those passed over."""
    for step in sorted(steps, reverse=True):
        damage = find_damage(parent / str(step))
        if damage is None:
            return step
        warn_of_damage(parent / str(step), damage)
    return None


def warn_of_damage(folder: pathlib.Path, damage: str) -> None:
    """Say that a step is passed over, and why."""
    _LOGGER.warning("Skipping checkpoint %s: %s.", folder, damage)


def remove(folder: pathlib.Path) -> None:
    """Remove a folder, if it is there; say so if it cannot be.

    A write that ends meanwhile may put a file where all had just been removed, and on
    a network a file that is still open stays under another name. So what is left is
    removed again, until the folder is gone or the tries are used up.
    """
    # What is half removed must not look finished.
    if _BEGUN not in folder.name:
        begun = folder.with_name(f"{folder.name}{_BEGUN}-removed")
        with contextlib.suppress(OSError):
            folder = folder.rename(begun)
    with contextlib.suppress(OSError):
        (folder / CHECKSUMS).unlink()
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
    return sorted(
        path
        for path in found
        if path.name != CHECKSUMS and not path.name.endswith(".partial")
    )


def _checksum(path: pathlib.Path) -> dict[str, int | str]:
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
