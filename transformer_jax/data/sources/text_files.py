"""Sentence pairs in text files: two aligned ones, or one with a tab in each line."""

import hashlib
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from transformer_jax.data.line_index import LineIndex
from transformer_jax.data.lines import LineCounts
from transformer_jax.errors import UserError

_LOGGER = logging.getLogger(__name__)

Paths = Sequence[str | os.PathLike[str]]


class TextFilePairs:
    """A `PairSource` over files that stay on disk, so 40 million lines are fine.

    Pairs with a blank side are skipped and counted; all other lines keep their partner.

    Attributes:
      drops: number of pairs with a blank side, under "empty".
    """

    def __init__(
        self,
        source_paths: Paths,
        target_paths: Paths | None,
        index_directory: str | os.PathLike[str] | None = None,
    ) -> None:
        """Index the files, or reuse their index.

        Args:
          source_paths: text files, plain or gzip, read one after the other.
          target_paths: as many files with the translations, line by line; None if each
            line of the source files is "source TAB target".
          index_directory: where the index and unpacked files are kept for the next
            time; None for a temporary directory that goes with this object.

        Raises:
          UserError: if the files cannot be read as pairs.
        """
        if index_directory is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="line_index_")
            index_directory = self._temporary.name
        _check_paths(source_paths, target_paths)
        has_columns = target_paths is None
        self._source = [
            LineIndex(path, index_directory, has_columns=has_columns)
            for path in source_paths
        ]
        self._target = [LineIndex(path, index_directory) for path in target_paths or ()]
        if not has_columns:
            _check_alignment(self._source, self._target)
        self._starts = np.cumsum([0, *map(len, self._source)])
        blank = _concatenate_blank(self._source, self._starts)
        if not has_columns:
            blank = np.union1d(blank, _concatenate_blank(self._target, self._starts))
        # The i-th kept line is i plus the number of blank lines before it.
        self._kept_before_blank = blank - np.arange(len(blank))
        self._num_pairs = int(self._starts[-1]) - len(blank)
        self.drops: Mapping[str, int] = {"empty": len(blank)}
        if not self._num_pairs:
            raise UserError(
                f"None of the {self._starts[-1]} pairs in {_names(source_paths)} has "
                "text on both sides. Check that the right files are named."
            )
        _LOGGER.info("%s", self.describe())

    def __len__(self) -> int:
        return self._num_pairs

    def __getitem__(self, index: int) -> tuple[str, str]:
        if not 0 <= index < self._num_pairs:
            raise IndexError(f"pair {index} of {self._num_pairs}")
        skipped = int(np.searchsorted(self._kept_before_blank, index, side="right"))
        return self._read(index + skipped)

    def gather(self, indices: Sequence[int]) -> list[tuple[str, str]]:
        """Return several pairs, in the given order."""
        return [self[index] for index in indices]

    def all_pairs(self) -> Iterator[tuple[str, str]]:
        """Yield every pair of lines, those with a blank side included."""
        return map(self._read, range(int(self._starts[-1])))

    def _read(self, number: int) -> tuple[str, str]:
        """Return a pair by its number among all lines."""
        file = int(np.searchsorted(self._starts, number, side="right")) - 1
        line = number - int(self._starts[file])
        if self._target:
            return self._source[file][line], self._target[file][line]
        source, _, target = self._source[file][line].partition("\t")
        return source, target

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if name != "_temporary"}

    def fingerprint(self) -> str:
        """Return the sha256 of the hashes of all files, in order."""
        sides = [
            [file.sha256 for file in side] for side in (self._source, self._target)
        ]
        return hashlib.sha256(repr(sides).encode()).hexdigest()

    def describe(self) -> str:
        """Return in one line what was read and what was odd about it."""
        files = self._source + self._target
        counts = sum((file.counts for file in files), LineCounts())
        return (
            f"{_names([file.path for file in files])}: {len(self)} pairs; skipped "
            f"{self.drops['empty']} with an empty side; {counts.describe_oddities()}"
        )


def _check_paths(source_paths: Paths, target_paths: Paths | None) -> None:
    for paths in (source_paths, target_paths):
        if isinstance(paths, str | os.PathLike):
            raise TypeError(f"expected a list of paths, got the single path {paths!r}")
    if not source_paths:
        raise UserError("No text files are named. Give at least one path.")
    if target_paths is not None and len(source_paths) != len(target_paths):
        raise UserError(
            f"{len(source_paths)} source files but {len(target_paths)} target files "
            f"are named: {_names(source_paths)} and {_names(target_paths)}. Give each "
            "source file its target file, in the same order."
        )


def _check_alignment(source: list[LineIndex], target: list[LineIndex]) -> None:
    for ours, theirs in zip(source, target, strict=True):
        if len(ours) != len(theirs):
            raise UserError(
                f"{ours.path} has {len(ours)} lines but {theirs.path} has "
                f"{len(theirs)}. Aligned files must have as many lines, line n of one "
                "being the translation of line n of the other. Check that both are "
                "complete and of the same version."
            )


def _concatenate_blank(files: list[LineIndex], starts: np.ndarray) -> np.ndarray:
    """Return the blank lines of all files, numbered through."""
    numbered = [file.blank + start for file, start in zip(files, starts, strict=False)]
    return np.concatenate(numbered)


def _names(paths: Paths) -> str:
    return ", ".join(map(str, paths))
