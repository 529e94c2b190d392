"""A list of checksums that says, written last, that a folder is whole."""

import hashlib
import json
import os
import pathlib

CHECKSUMS = "checksums.json"


def write_checksums(folder: pathlib.Path) -> None:
    """List every file of `folder` with its size and SHA-256, all or nothing."""
    sums = {str(path.relative_to(folder)): _checksum(path) for path in _files(folder)}
    temporary = folder / f"{CHECKSUMS}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(sums, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / CHECKSUMS)


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


def _files(folder: pathlib.Path) -> list[pathlib.Path]:
    own = (CHECKSUMS, f"{CHECKSUMS}.tmp")
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in own)


def _checksum(path: pathlib.Path) -> dict[str, int | str]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}
