"""RUN/manifest.json: checksums of the small files that a run's results depend on.

Checkpoints and tokens have checksums of their own.
"""

import hashlib
import logging
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from transformer_jax.errors import UserError
from transformer_jax.files import (
    read_checked_json,
    sha256_of,
    with_checksum,
    write_atomically,
    write_json,
)

_LOGGER = logging.getLogger(__name__)

ACCEPT = "python -m transformer_jax check --accept --workdir"


class Manifest:
    """What each file of a run has to be, and what text the run was begun with.

    Only training writes it, and whoever accepts files as they are.

    Attributes:
      path: where it lies.
    """

    def __init__(self, root: pathlib.Path) -> None:
        """Read the manifest of a run, which may have none yet or a damaged one.

        Args:
          root: the run's folder.
        """
        self._root = root
        self.path = root / "manifest.json"
        self._is_warned = False

    @property
    def is_whole(self) -> bool:
        """Whether there is a manifest, as it was written."""
        return self._read() is not None

    @property
    def fingerprints(self) -> dict[str, str]:
        """Of the run's text and tokenizer, by name; empty where nothing is known."""
        found = self._read() or {}
        return dict(found.get("data", {}))

    def files(self) -> list[pathlib.Path]:
        """Return the files that have a checksum, whether or not they are there."""
        found = self._read() or {}
        return [self._root / name for name in found.get("files", {})]

    def begin(self) -> None:
        """Forget all files, for a run that begins."""
        self._write({}, {})

    def write(self, path: pathlib.Path, content: bytes) -> None:
        """Write a file of the run, so that it fits the manifest at any moment.

        What the file held before still fits, until it is written the next time.
        """
        new = hashlib.sha256(content).hexdigest()
        old = sha256_of(path) if path.is_file() and self.damage(path) is None else None
        self._set(path, [new] if old in (None, new) else [str(old), new])
        with write_atomically(path) as file:
            file.write(content)

    def record(self, paths: Iterable[pathlib.Path]) -> None:
        """Take files for right as they are."""
        for path in paths:
            self._set(path, [sha256_of(path)])

    def record_data(self, fingerprints: Mapping[str, str]) -> None:
        """Keep what the run's text and tokenizer are."""
        found = self._read() or {}
        self._write(found.get("files", {}), fingerprints)

    def accept(
        self, paths: Iterable[pathlib.Path], fingerprints: Mapping[str, str]
    ) -> None:
        """Take these files and fingerprints for right as they are, and no others."""
        found = {self._name(path): [sha256_of(path)] for path in paths}
        self._write(found, fingerprints)

    def damage(self, path: pathlib.Path) -> str | None:
        """Say what is wrong with a file; None if nothing is, or nothing is known."""
        found = self._read() or {}
        expected = found.get("files", {}).get(self._name(path))
        if expected is None:
            return None
        if not path.is_file():
            return "is missing"
        if sha256_of(path) not in expected:
            return "is not as this program wrote it"
        return None

    def check(self, path: pathlib.Path, advice: str = "") -> None:
        """Refuse a file that is missing or not as it was written.

        Args:
          path: in the run.
          advice: what else helps, a sentence.

        Raises:
          UserError: names the file, and what to do.
        """
        self._warn_of_none()
        if damage := self.damage(path):
            raise UserError(
                f"{path} {damage}. Copy the right one back. "
                f"{f'{advice} ' if advice else ''}If it was changed on purpose, "
                f"`{ACCEPT} {self._root}` takes it as it is."
            )

    def _warn_of_none(self) -> None:
        if not (self._is_warned or self.is_whole):
            _LOGGER.warning(
                "%s %s, so nothing says whether the run's files are as they were "
                "written. If they are, `%s %s` writes it anew.",
                self.path,
                "is damaged" if self.path.exists() else "is missing",
                ACCEPT,
                self._root,
            )
        self._is_warned = True

    def _name(self, path: pathlib.Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _read(self) -> dict[str, Any] | None:
        found = read_checked_json(self.path)
        return found if found and found.keys() == {"files", "data"} else None

    def _set(self, path: pathlib.Path, digests: list[str]) -> None:
        found = self._read() or {}
        files = {**found.get("files", {}), self._name(path): digests}
        self._write(files, found.get("data", {}))

    def _write(
        self, files: Mapping[str, list[str]], fingerprints: Mapping[str, str]
    ) -> None:
        manifest = {"files": dict(files), "data": dict(fingerprints)}
        write_json(self.path, with_checksum(manifest))
