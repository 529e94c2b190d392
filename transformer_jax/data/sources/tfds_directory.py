"""Data sets that TensorFlow Datasets has prepared: where they lie, are they whole?"""

import dataclasses
import os
import pathlib
import re
from typing import Any

from transformer_jax.data.sources.tfds_without_tensorflow import import_tfds
from transformer_jax.errors import UserError
from transformer_jax.files import as_path

_INFO = "dataset_info.json"
_FEATURES = "features.json"
# How TFDS calls what it has not finished, beside the place where it belongs.
_UNFINISHED = "incomplete."
_VERSION = re.compile(r"\d+\.\d+\.\d+")


class NotPreparedError(UserError):
    """There is no such data set yet, finished or not."""


@dataclasses.dataclass(frozen=True)
class PreparedDataSet:
    """A data set of which every file is there.

    Attributes:
      name: with configuration and version, as "wmt14_translate/de-en/1.0.0".
      path: its directory.
      splits: number of examples of each split.
      builder: TFDS's own object, which reads it.
    """

    name: str
    path: str
    splits: dict[str, int]
    builder: Any

    @property
    def languages(self) -> tuple[str, ...]:
        """Those of its pairs; raises a UserError if it holds something else."""
        return languages_of(self.builder)

    def describe(self) -> str:
        """Return in one line what it holds."""
        counts = ", ".join(f"{split} {count:,}" for split, count in self.splits.items())
        return f"{self.name} in {self.path}: examples of {counts}"


def data_directory(directory: str) -> str:
    """Return the folder of data sets: as given, or TFDS_DATA_DIR, or TFDS's default."""
    chosen = directory or os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    return chosen if "://" in chosen else str(as_path(chosen))


def open_prepared(name: str, directory: str) -> PreparedDataSet:
    """Find a data set that was prepared before.

    Args:
      name: TFDS's, as "wmt14_translate/de-en"; empty if `directory` is the data set's
        own, the one that holds its dataset_info.json.
      directory: the folder of data sets; empty: TFDS_DATA_DIR.

    Raises:
      NotPreparedError: if there is no such data set.
      UserError: if it is unfinished, damaged, or not of array_record files.
    """
    if not (name or directory):
        raise UserError(
            "Neither the name nor the directory of the data set is set. Name "
            'a translation data set, as "wmt14_translate/de-en", or the directory of '
            "one that TensorFlow Datasets has prepared."
        )
    builder = _open_builder(name, data_directory(directory))
    path = os.fspath(builder.data_path)
    _check_whole(builder, path)
    _check_file_format(builder, path)
    return PreparedDataSet(
        name=builder.info.full_name,
        path=path,
        splits={
            split: builder.info.splits[split].num_examples
            for split in builder.info.splits
        },
        builder=builder,
    )


def languages_of(builder: Any) -> tuple[str, ...]:
    """Return the languages of the pairs of a translation data set.

    Raises:
      UserError: if it holds something else.
    """
    languages = text_columns(builder)
    if len(languages) < 2:
        raise UserError(
            f"{builder.info.full_name} is not a translation data set: its examples "
            f"hold {', '.join(sorted(builder.info.features))}. Name one whose examples "
            "are a sentence in each of two or more languages."
        )
    return languages


def text_column(builder: Any, language: str) -> str:
    """Return what a data set calls texts of a language: as that, or the only ones.

    Raises:
      UserError: if it has neither.
    """
    columns = text_columns(builder)
    if language in columns:
        return language
    if len(columns) == 1:
        return columns[0]
    raise UserError(
        f"{builder.info.full_name} has the languages {', '.join(columns) or 'none'}, "
        f"but source_language={language!r}. Set it to one that it has."
    )


def text_columns(builder: Any) -> tuple[str, ...]:
    """Return the names of what is text in a data set's examples."""
    text = import_tfds().features.Text
    features = builder.info.features
    return tuple(name for name in sorted(features) if isinstance(features[name], text))


def check_languages(builder: Any, source: str, target: str) -> None:
    """Make sure that a data set has both sides of the pair, as two languages.

    Raises:
      UserError: otherwise.
    """
    name, languages = builder.info.full_name, languages_of(builder)
    if source != target and {source, target} <= set(languages):
        return
    raise UserError(
        f"{name} has the languages {', '.join(languages)}, but "
        f"source_language={source!r} and "
        f"target_language={target!r}. Set them to two of the languages it "
        "has, in the direction to translate."
    )


def _open_builder(name: str, directory: str) -> Any:
    root = import_tfds().core.Path(directory)
    try:
        if any((root / file).exists() for file in (_INFO, _FEATURES)):
            return _open_directory(root)
        found = _find_version(root, name) if name else None
    except (ImportError, RuntimeError) as error:
        raise UserError(
            f"{directory} cannot be reached: {error}. Mount the bucket as a folder "
            "(for gs://, gcsfuse does that) or copy the data set to a disk, and name "
            "that."
        ) from error
    if found is not None:
        return _open_directory(found)
    if not name:
        raise NotPreparedError(
            f"{directory} holds no data set: it has no {_INFO}. Give the directory of "
            "the data set's version, or set its name to find it "
            "below this one."
        )
    raise NotPreparedError(
        f"The data set {name} has not been prepared in {directory}."
        f"{_describe_unfinished(name, directory)} Prepare it once with `python -m "
        "transformer_jax prepare --config=...`, and set TFDS_DATA_DIR "
        "or its directory to the folder it lies in."
    )


def _find_version(root: Any, name: str) -> Any | None:
    """Return the directory of "name/configuration:version", by default the newest."""
    name, _, version = name.partition(":")
    parent = root / name
    if version:
        return parent / version if (parent / version).exists() else None
    if not parent.exists():
        return None
    versions = [path for path in parent.iterdir() if _VERSION.fullmatch(path.name)]
    return max(versions, key=_version_numbers, default=None)


def _version_numbers(path: Any) -> list[int]:
    return [int(number) for number in path.name.split(".")]


def _open_directory(path: Any) -> Any:
    tfds = import_tfds()
    missing = [name for name in (_INFO, _FEATURES) if not (path / name).exists()]
    if missing:
        raise _unfinished(path, missing)
    try:
        return tfds.builder_from_directory(path)
    except (ValueError, KeyError) as error:
        raise UserError(
            f"{path / _INFO} or {_FEATURES} beside it is damaged: {error}. Delete "
            f"{path} and prepare the data set again."
        ) from error


def _check_whole(builder: Any, path: str) -> None:
    """Fail unless every file that the data set's own account names is there."""
    splits = builder.info.splits
    missing = [
        file.name
        for split in splits
        for file in splits[split].filepaths
        if not file.exists() or not file.stat().length
    ]
    if missing or not splits:
        raise _unfinished(path, missing or ["any split"])


def _check_file_format(builder: Any, path: str) -> None:
    found = builder.info.file_format
    if found.value != "array_record":
        raise UserError(
            f"The data set in {path} is made of {found.value} files, which cannot be "
            "read at random. Prepare it again, in another folder, with `python -m "
            "transformer_jax prepare --config=...`."
        )


def _unfinished(path: Any, missing: list[str]) -> UserError:
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    return UserError(
        f"The data set in {path} is not whole: {', '.join(missing[:3])}{more} missing. "
        "It was copied in part or its preparation was interrupted. Delete this "
        "directory and prepare or copy it again."
    )


def _describe_unfinished(name: str, directory: str) -> str:
    """Return a sentence about preparations that were begun, or nothing."""
    parent = pathlib.Path(directory, name.partition(":")[0])
    begun = sorted(parent.glob(f"{_UNFINISHED}*"))
    if not begun:
        return ""
    return (
        f" Its preparation was begun and is not finished ({begun[0]}): it is still "
        "going on, or was interrupted and that folder can be deleted."
    )
