"""Labelled texts of a data set that TensorFlow Datasets has prepared, as GLUE's."""

import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

from transformer_jax.data.sources.tfds_directory import open_prepared
from transformer_jax.data.sources.tfds_texts import TfdsTexts
from transformer_jax.data.sources.tfds_without_tensorflow import import_tfds
from transformer_jax.data.text_source import OpenRequest, TextSource
from transformer_jax.errors import UserError, did_you_mean
from transformer_jax.fields import fixed, free, split_names

_LOGGER = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class TfdsLabelSettings:
    """A data set of labelled texts, prepared by `transformer_jax prepare`."""

    name: str = fixed("", "its name and configuration, as glue/sst2")
    directory: str = free(
        "", "the folder of prepared data sets; empty: what TFDS_DATA_DIR names"
    )
    text_columns: str = fixed(
        "sentence", "names of what holds a text's sentences, one or two with a comma"
    )
    label_column: str = fixed("label", "name of what holds its class")
    validation_split: str = fixed(
        "validation", "what validates; of glue/mnli it is validation_matched"
    )


def check_tfds_labels(settings: TfdsLabelSettings, languages: Sequence[str]) -> None:
    """Make sure that each sentence has a column.

    Raises:
      UserError: names the field.
    """
    num_columns = len(split_names(settings.text_columns))
    if num_columns != len(languages):
        raise UserError(
            f"tfds_labels.text_columns={settings.text_columns!r} names {num_columns}, "
            f"but texts have {len(languages)} sentences (config.task)."
        )


def check_columns(settings: TfdsLabelSettings, builder: Any) -> None:
    """Make sure that the examples of TFDS's builder have text and a class.

    Raises:
      UserError: names the field.
    """
    features, kinds = builder.info.features, import_tfds().features
    wanted = dict.fromkeys(split_names(settings.text_columns), kinds.Text)
    for column, kind in (wanted | {settings.label_column: kinds.ClassLabel}).items():
        if column not in features or not isinstance(features[column], kind):
            able = [name for name in features if isinstance(features[name], kind)]
            noun = "class" if kind is kinds.ClassLabel else "text"
            raise UserError(
                f"{builder.info.full_name} has no {noun} called {column!r}; it has "
                f"{', '.join(able) or 'none'}.{did_you_mean(column, able)} Set "
                "tfds_labels.text_columns and label_column."
            )


def open_tfds_labels(
    settings: TfdsLabelSettings, request: OpenRequest
) -> dict[str, TextSource]:
    """Open the splits for training and validation.

    Tests are not among them: those of GLUE have no labels.

    Raises:
      UserError: if the data set is not there, or its classes are not the task's labels.
    """
    check_tfds_labels(settings, request.languages)
    data_set = open_prepared(settings.name, settings.directory)
    check_columns(settings, data_set.builder)
    splits = {"train": "train", "validation": settings.validation_split}
    missing = [split for split in splits.values() if not data_set.splits.get(split)]
    if missing:
        raise UserError(
            f"{data_set.name} has no split {missing[0]!r}, only "
            f"{', '.join(data_set.splits)}. Set tfds_labels.validation_split."
        )
    names = data_set.builder.info.features[settings.label_column].names
    if request.labels is not None and request.labels.is_of_words:
        raise UserError(
            f"{data_set.name} has a class for each text, not for each word. Set "
            "config.task.name=classification."
        )
    if request.labels is not None and set(names) != set(request.labels.names):
        raise UserError(
            f"{data_set.name} has the classes {','.join(names)}; set "
            "config.task.labels to them."
        )
    _LOGGER.info("%s", data_set.describe())
    columns = (*split_names(settings.text_columns), settings.label_column)
    return {
        split: TfdsTexts(data_set, own_name, columns)
        for split, own_name in splits.items()
    }
