"""Text in files: aligned ones, one with a tab in each line, or lines alone."""

import dataclasses
import hashlib
import itertools
import logging
import os
import pathlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from transformer_jax.data.line_index import LineIndex, require_regular_file
from transformer_jax.data.lines import LineCounts
from transformer_jax.data.text_source import OpenRequest, Text, TextSource
from transformer_jax.errors import UserError
from transformer_jax.fields import free
from transformer_jax.files import as_path
from transformer_jax.language_codes import language_of_name, short_code

_LOGGER = logging.getLogger(__name__)

# How many of a folder's files to name in a message.
_MOST_NAMES = 12

Paths = Sequence[str | os.PathLike[str]]


@dataclasses.dataclass(frozen=True)
class TextFileSettings:
    """Text files, plain or .gz, one sentence a line.

    Where a target is empty, its source holds both sides on each line, parted by a tab.
    Of lines alone, a blank one begins a new document.
    """

    directory: str = free(".", "where the paths of text files start")
    train_source: str = free(
        "", "source side of the training split: a text file, or several with commas"
    )
    train_target: str = free(
        "", "its target side, likewise; empty: the source has both, parted by tabs"
    )
    validation_source: str = free("", "source side of the validation split, likewise")
    validation_target: str = free("", "target side of the validation split, likewise")
    test_source: str = free("", "source side of the test split; empty: there is none")
    test_target: str = free("", "target side of the test split, likewise")


def check_text_files(settings: TextFileSettings, languages: Sequence[str]) -> None:
    """Make sure that each split has files, and each source its target.

    Raises:
      UserError: names the field.
    """
    for split in _splits(settings):
        sides = _sides(split, settings, is_single=len(languages) == 1)
        if not sides[0]:
            raise UserError(
                f"{split}_source is empty. Name a text file, relative to directory="
                f"{settings.directory!r}."
            )
        _check_paths(sides)
        if len(sides) == len(languages):
            _check_names(split, sides, languages)


def open_text_files(
    settings: TextFileSettings, request: OpenRequest
) -> dict[str, TextSource]:
    """Open the splits that `settings` name files for.

    Raises:
      UserError: if a split has no file, or its files cannot be read as asked.
    """
    check_text_files(settings, request.languages)
    splits = _splits(settings)
    # All of them, before the first is read.
    fields = [
        f"{split}_{side}"
        for split in splits
        for side in ("source", "target")[: len(request.languages)]
    ]
    _require_files(settings, fields)
    return {split: _open_split(split, settings, request) for split in splits}


def _splits(settings: TextFileSettings) -> tuple[str, ...]:
    has_test = bool(settings.test_source)
    return ("train", "validation", "test") if has_test else ("train", "validation")


def _sides(
    split: str, settings: TextFileSettings, is_single: bool
) -> list[list[pathlib.Path]]:
    """Return the files of each side; one side alone holds columns, or single lines."""
    source, target = (
        _paths(settings, f"{split}_{side}") for side in ("source", "target")
    )
    return [source] if is_single or not target else [source, target]


def _open_split(
    split: str, settings: TextFileSettings, request: OpenRequest
) -> "TextFiles":
    """Open one split: pairs of lines, or lines alone if one language is asked for."""
    is_single = len(request.languages) == 1
    sides = _sides(split, settings, is_single)
    return TextFiles(
        *sides,
        has_columns=not is_single and len(sides) == 1,
        has_documents=request.has_documents,
        index_directory=request.index_directory,
    )


def _paths(settings: TextFileSettings, field: str) -> list[pathlib.Path]:
    """Return the files that a field of comma-separated paths names."""
    directory = as_path(settings.directory or ".")
    paths = getattr(settings, field).split(",")
    return [directory / as_path(path.strip()) for path in paths if path.strip()]


def _check_names(
    split: str, sides: Sequence[Sequence[pathlib.Path]], languages: Sequence[str]
) -> None:
    """Look at the languages that files are called by, as .de.

    Raises:
      UserError: if one is called by the other side's language.
    """
    codes = [short_code(language) for language in languages]
    for side, paths, own in zip(("source", "target"), sides, codes, strict=False):
        for path in paths:
            called = language_of_name(path, languages)
            if called is None or called == own:
                continue
            given = (
                f"{split}_{side}={path.name} is called by the language {called!r}, but "
                f"{side}_language={own!r}."
            )
            if called in codes:
                raise UserError(
                    f"{given} Exchange the two files or the two languages, or rename "
                    "the files."
                )
            _LOGGER.warning(
                "config.data.%s Scores depend on the language: is it right?", given
            )


def _contents(directory: pathlib.Path) -> str:
    """Say what lies in a directory."""
    if not directory.is_dir():
        return f"{directory} is no directory"
    names = sorted(path.name for path in directory.iterdir())
    more = [f"and {len(names) - _MOST_NAMES} more"] * (len(names) > _MOST_NAMES)
    held = ", ".join([*names[:_MOST_NAMES], *more])
    return f"{directory} {f'holds {held}' if held else 'is empty'}"


def _require_files(settings: TextFileSettings, fields: Sequence[str]) -> None:
    """Make sure that all the files can be read, and more than once.

    Raises:
      UserError: names the file; explains what is looked for, and commas.
    """
    for field in fields:
        value = getattr(settings, field)
        for path in _paths(settings, field):
            try:
                require_regular_file(path)
            except UserError as error:
                advice = [
                    f"Commas part the names in {field}={value!r}: rename a file whose "
                    "own name holds one, or make a link to it."
                ] * ("," in value)
                if not os.path.lexists(path):
                    advice.append(_what_is_looked_for(settings, fields, field))
                raise UserError(" ".join([str(error), *advice])) from error


def _what_is_looked_for(
    settings: TextFileSettings, fields: Sequence[str], missing: str
) -> str:
    """Say what files are looked for and there, and which flag helps.

    Args:
      settings: of the source.
      fields: those that name files.
      missing: one of them, whose file there is not.
    """
    names = ", ".join(getattr(settings, field) for field in fields)
    directory = as_path(settings.directory or ".")
    said = f"Looked for are {names}; {_contents(directory)}."
    if not directory.is_dir():
        return f"{said} Name your folder by --config.data.directory=DIR."
    last = ""
    if missing.startswith("test"):
        last = "; to do without a test split, give an empty --config.data.test_source="
    name = getattr(settings, missing).lower()
    # As train.en.gz and train.EN for train.en.
    alike = sorted(n for n in os.listdir(directory) if n.lower().startswith(name))
    return (
        f"{said} Rename your files, or give their names, as in --config.data.{missing}="
        f"{alike[0] if alike else 'NAME'}{last}."
    )


class TextFiles:
    """A `TextSource` over files that stay on disk, so 40 million lines are fine.

    Texts with a blank side are skipped and counted; other lines keep their partner.

    Attributes:
      drops: number of texts with a blank side, under "empty".
    """

    def __init__(
        self,
        *sides: Paths,
        has_columns: bool = False,
        has_documents: bool = False,
        index_directory: str | os.PathLike[str] | None = None,
    ) -> None:
        """Index the files, or reuse their index.

        Args:
          *sides: for each side its text files, plain or gzip, read one after the other;
            line n of one side belongs to line n of the other.
          has_columns: whether each line of the one side holds "source TAB target".
          has_documents: whether the number of its document follows each sentence: a
            blank line, and the end of a file, end one.
          index_directory: where the index and unpacked files are kept for the next
            time; None for a temporary directory that goes with this object.

        Raises:
          UserError: if the files cannot be read so.
        """
        if index_directory is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="line_index_")
            index_directory = self._temporary.name
        _check_paths(sides)
        self._has_columns = has_columns
        self._has_documents = has_documents
        self._sides = [
            [LineIndex(path, index_directory, has_columns=has_columns) for path in side]
            for side in sides
        ]
        _check_alignment(self._sides)
        self._starts = np.cumsum([0, *map(len, self._sides[0])])
        blank = np.unique(
            np.concatenate([_number_blank(side, self._starts) for side in self._sides])
        )
        self._blank = blank
        # The i-th kept line is i plus the number of blank lines before it.
        self._kept_before_blank = blank - np.arange(len(blank))
        self._num_texts = int(self._starts[-1]) - len(blank)
        self.drops: Mapping[str, int] = {"empty": len(blank)}
        if not self._num_texts:
            raise UserError(
                f"None of the {self._starts[-1]} {self._noun} in {_names(sides[0])} "
                f"has text{'' if self._is_single else ' on both sides'}. Check that "
                "the right files are named."
            )
        _LOGGER.info("%s", self.describe())

    @property
    def _is_single(self) -> bool:
        return len(self._sides) == 1 and not self._has_columns

    @property
    def _noun(self) -> str:
        return "lines" if self._is_single else "pairs"

    def __len__(self) -> int:
        return self._num_texts

    def __getitem__(self, index: int) -> Text:
        if not 0 <= index < self._num_texts:
            raise IndexError(f"text {index} of {self._num_texts}")
        skipped = int(np.searchsorted(self._kept_before_blank, index, side="right"))
        return self._read(index + skipped)

    def gather(self, indices: Sequence[int]) -> list[Text]:
        """Return several texts, in the given order."""
        return [self[index] for index in indices]

    def all_texts(self) -> Iterator[Text]:
        """Yield every text, those with a blank side included."""
        return map(self._read, range(int(self._starts[-1])))

    def _read(self, number: int) -> Text:
        """Return a text by its number among all lines."""
        file = int(np.searchsorted(self._starts, number, side="right")) - 1
        line = number - int(self._starts[file])
        if self._has_columns:
            source, _, target = self._sides[0][file][line].partition("\t")
            return source, target
        text = tuple(side[file][line] for side in self._sides)
        if not self._has_documents:
            return text
        return *text, str(int(np.searchsorted(self._blank, number)) + file)

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if name != "_temporary"}

    def fingerprint(self) -> str:
        """Return the sha256 of the hashes of all files, in order."""
        sides = [[file.sha256 for file in side] for side in self._sides]
        # A second side without files tells columns from lines alone.
        if self._has_columns:
            sides.append([])
        if self._has_documents:
            sides.append(["documents"])
        return hashlib.sha256(repr(sides).encode()).hexdigest()

    def _describe_blank(self) -> str:
        if self._has_documents:
            return f"{len(self._blank)} blank lines part documents"
        return f"skipped {len(self._blank)} with an empty side"

    def describe(self) -> str:
        """Return in one line what was read and what was odd about it."""
        files = list(itertools.chain.from_iterable(self._sides))
        counts = sum((file.counts for file in files), LineCounts())
        parts = [
            f"{_names([file.path for file in files])}: {len(self)} {self._noun}",
            self._describe_blank() if len(self._blank) else "",
            counts.describe_oddities(),
        ]
        return "; ".join(filter(None, parts))


def _check_paths(sides: Sequence[Paths]) -> None:
    for paths in sides:
        if isinstance(paths, str | os.PathLike):
            raise TypeError(f"expected a list of paths, got the single path {paths!r}")
    if not sides or not sides[0]:
        raise UserError("No text files are named. Give at least one path.")
    for paths in sides[1:]:
        if len(sides[0]) != len(paths):
            raise UserError(
                f"{len(sides[0])} source files but {len(paths)} target files are "
                f"named: {_names(sides[0])} and {_names(paths)}. Give each source file "
                "its target file, in the same order. Commas part names, so that none "
                "can hold one."
            )


def _check_alignment(sides: Sequence[Sequence[LineIndex]]) -> None:
    for first, *others in zip(*sides, strict=True):
        for other in others:
            if len(first) != len(other):
                raise UserError(
                    f"{first.path} has {len(first)} lines but {other.path} has "
                    f"{len(other)}. Aligned files must have as many lines, line n of "
                    "one being the translation of line n of the other. Check that both "
                    "are complete and of the same version."
                )


def _number_blank(files: list[LineIndex], starts: np.ndarray) -> np.ndarray:
    """Return the blank lines of all files of a side, numbered through."""
    numbered = [file.blank + start for file, start in zip(files, starts, strict=False)]
    return np.concatenate(numbered)


def _names(paths: Paths) -> str:
    return ", ".join(map(str, paths))
