"""Labelled texts in files: tables with tabs, or JSON lines."""

import dataclasses
import hashlib
import json
import logging
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transformer_jax.data.line_index import require_regular_file
from transformer_jax.data.lines import is_blank, read_lines
from transformer_jax.data.text_source import OpenRequest, Text, TextSource
from transformer_jax.errors import UserError, did_you_mean
from transformer_jax.fields import fixed, free, split_names
from transformer_jax.files import as_path

_LOGGER = logging.getLogger(__name__)
_JSON_NAMES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")


@dataclasses.dataclass(frozen=True)
class LabelledFileSettings:
    """Files with a labelled text a line: .jsonl, or columns parted by tabs."""

    directory: str = free(".", "where the paths of the files start")
    train: str = free("", "file of the training split: columns, or .jsonl; .gz too")
    validation: str = free("", "file of the validation split, likewise")
    test: str = free("", "file of the test split, likewise; empty: there is none")
    text_columns: str = fixed(
        "sentence",
        "names of the columns of a text's sentences, one or two with a comma; numbers "
        "from 0 where the file has no line of names",
    )
    label_column: str = fixed("label", "name or number of the label's column")


def check_labelled_files(
    settings: LabelledFileSettings, languages: Sequence[str]
) -> None:
    """Make sure that each split has a file, and each sentence a column.

    Raises:
      UserError: names the field.
    """
    for split, name in (("train", settings.train), ("validation", settings.validation)):
        if not name:
            raise UserError(
                f"labelled.{split} is empty. Name a file, relative to "
                f"labelled.directory={settings.directory!r}."
            )
    columns = _columns(settings)
    if len(columns) - 1 != len(languages):
        raise UserError(
            f"labelled.text_columns={settings.text_columns!r} names "
            f"{len(columns) - 1}, but texts have {len(languages)} sentences "
            "(config.task)."
        )
    numbers = [column.isdecimal() for column in columns]
    if any(numbers) and not all(numbers):
        raise UserError(
            f"labelled.text_columns={settings.text_columns!r} and label_column="
            f"{settings.label_column!r}: give names for all, or numbers for all."
        )


def open_labelled_files(
    settings: LabelledFileSettings, request: OpenRequest
) -> dict[str, TextSource]:
    """Open the splits that `settings` name files for.

    Raises:
      UserError: if a file cannot be read, or a line has not what is asked for.
    """
    check_labelled_files(settings, request.languages)
    names = {
        "train": settings.train,
        "validation": settings.validation,
        "test": settings.test,
    }
    paths = {
        split: as_path(settings.directory or ".") / as_path(name)
        for split, name in names.items()
        if name
    }
    for path in paths.values():  # All of them, before the first is read.
        require_regular_file(path)
    return {
        split: LabelledFile(path, _columns(settings), request)
        for split, path in paths.items()
    }


def _columns(settings: LabelledFileSettings) -> list[str]:
    """Return the columns of the sentences and, last, of the label."""
    return [*split_names(settings.text_columns), settings.label_column.strip()]


class LabelledFile:
    """A `TextSource` over one file, held in memory.

    Attributes:
      drops: number of texts with an empty sentence or label, under "empty".
    """

    def __init__(
        self, path: pathlib.Path, columns: Sequence[str], request: OpenRequest
    ) -> None:
        """Read a file.

        Args:
          path: a table with tabs, or JSON lines by its name.
          columns: of each sentence, then of the label.
          request: says which labels there are.

        Raises:
          UserError: says the file and the line.
        """
        is_json = path.name.lower().endswith(_JSON_NAMES)
        read = _json_rows if is_json else _table_rows
        self._texts: list[Text] = []
        blank = []
        for number, row in read(path, columns):
            if any(map(is_blank, row)):
                blank.append(number)
                continue
            _check(row, request, path, number)
            self._texts.append(row)
        self.drops: Mapping[str, int] = {"empty": len(blank)}
        if not self._texts:
            raise UserError(f"{path} holds no labelled text.")
        _LOGGER.info(
            "%s: %d texts%s",
            path,
            len(self._texts),
            f"; skipped {len(blank)} with an empty column" if blank else "",
        )

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> Text:
        return self._texts[index]

    def gather(self, indices: Sequence[int]) -> list[Text]:
        """Return several texts, in the given order."""
        return [self._texts[index] for index in indices]

    def all_texts(self) -> Iterator[Text]:
        """Yield every text that has a label, in order: nothing else can be scored."""
        return iter(self._texts)

    def fingerprint(self) -> str:
        """Return a hash of the texts."""
        return hashlib.sha256(repr(self._texts).encode()).hexdigest()


def _check(row: Text, request: OpenRequest, path: pathlib.Path, number: int) -> None:
    """Make sure that a line's label is one, or has one for each word.

    Raises:
      UserError: says the line.
    """
    labels, label = request.labels, row[-1]
    if labels is None:
        return
    try:
        labels.check(label)
    except UserError as error:
        raise UserError(f"{path}, line {number}: {error}") from error
    num_words, num_labels = len(row[0].split()), len(labels.split(label))
    if labels.is_of_words and num_words != num_labels:
        raise UserError(
            f"{path}, line {number}: {num_words} words, but {num_labels} labels. Part "
            "both by spaces, a label for each word."
        )


def _table_rows(
    path: pathlib.Path, columns: Sequence[str]
) -> Iterator[tuple[int, Text]]:
    """Yield the number and the columns of each line but the line of names."""
    lines = read_lines(path)
    has_names = not columns[0].isdecimal()
    names = lines[0].split("\t") if has_names and lines else []
    places = [
        _place(column, names, path) if has_names else int(column) for column in columns
    ]
    for number, line in enumerate(lines[has_names:], start=1 + has_names):
        if is_blank(line):
            continue
        cells = line.split("\t")
        if names and len(cells) != len(names):
            raise UserError(
                f"{path}, line {number}: {len(cells)} columns, where the first line "
                f"names {len(names)}. A tab within a text must be another character."
            )
        if max(places) >= len(cells):
            raise UserError(
                f"{path}, line {number}: {len(cells)} columns, counted from 0; column "
                f"{max(places)} is asked for."
            )
        yield number, tuple(cells[place].strip() for place in places)


def _place(column: str, names: Sequence[str], path: pathlib.Path) -> int:
    if column in names:
        return names.index(column)
    raise UserError(
        f"{path} has no column {column!r}; its first line is "
        f"{', '.join(names) or 'empty'}.{did_you_mean(column, names)} Set "
        "config.data.labelled.text_columns and label_column: to numbers, as 0,1 and 2, "
        "where a file has no line of names."
    )


def _json_rows(
    path: pathlib.Path, columns: Sequence[str]
) -> Iterator[tuple[int, Text]]:
    """Yield the number and the columns of each line."""
    for number, line in enumerate(read_lines(path), start=1):
        if is_blank(line):
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}, line {number}: no JSON ({error}).") from error
        if not isinstance(record, dict):
            raise UserError(f"{path}, line {number}: no JSON object, as {{...}}.")
        missing = [column for column in columns if column not in record]
        if missing:
            raise UserError(
                f"{path}, line {number} has no {missing[0]!r}, only "
                f"{', '.join(record)}.{did_you_mean(missing[0], record)} Set "
                "config.data.labelled.text_columns and label_column."
            )
        yield number, tuple(_as_text(record[column]) for column in columns)


def _as_text(value: Any) -> str:
    """Write a value of JSON as a line; words of a list are parted by spaces."""
    if isinstance(value, list):
        return " ".join(map(_as_text, value))
    if isinstance(value, str):
        return " ".join(value.split("\n")).replace("\t", " ").strip()
    return json.dumps(value)
