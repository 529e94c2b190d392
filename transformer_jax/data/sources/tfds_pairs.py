"""Sentence pairs, or sentences, of a data set that TensorFlow Datasets has prepared."""

import dataclasses
import logging
from collections.abc import Mapping

from transformer_jax.data.sources.tfds_directory import (
    PreparedDataSet,
    check_languages,
    open_prepared,
    text_column,
    text_columns,
)
from transformer_jax.data.sources.tfds_texts import TfdsTexts
from transformer_jax.data.text_source import OneSide, OpenRequest, TextSource
from transformer_jax.errors import UserError
from transformer_jax.fields import fixed, free

_LOGGER = logging.getLogger(__name__)

# A set without a validation split lends it this share of its training pairs.
_LARGEST_LOAN = 3_000


@dataclasses.dataclass(frozen=True)
class TfdsSettings:
    """A data set of translations, or of text, prepared by `transformer_jax prepare`."""

    name: str = fixed(
        "",
        "its name and configuration, as wmt14_translate/de-en, for either direction; "
        "empty if directory is that of one prepared data set",
    )
    directory: str = free(
        "", "the folder of prepared data sets; empty: what TFDS_DATA_DIR names"
    )


def open_tfds(settings: TfdsSettings, request: OpenRequest) -> dict[str, TextSource]:
    """Open the splits of a prepared data set, and say which way they are read.

    Raises:
      UserError: if it is not there, or lacks one of the languages.
    """
    data_set = open_prepared(settings.name, settings.directory)
    if len(request.languages) == 1:
        columns = _columns_of_one(data_set, request.languages[0])
    else:
        columns = request.languages
        check_languages(data_set.builder, *columns)
    texts: dict[str, TextSource] = {
        split: TfdsTexts(data_set, expression, columns)
        for split, expression in split_expressions(data_set.splits).items()
    }
    _LOGGER.info("%s", data_set.describe())
    if len(request.languages) == 1:
        return {split: OneSide(source, 0) for split, source in texts.items()}
    _LOGGER.info("Translating from %s into %s", *columns)
    return texts


def _columns_of_one(data_set: PreparedDataSet, language: str) -> tuple[str, ...]:
    """Return the column of sentences alone, and that of another language, if any.

    Runs from when only pairs were read are known by both.
    """
    first = text_column(data_set.builder, language)
    others = [name for name in text_columns(data_set.builder) if name != first]
    return first, *others[:1]


def split_expressions(splits: Mapping[str, int]) -> dict[str, str]:
    """Return what each split of a run is called in the data set.

    That is train, validation and test under their own names. A data set that has no
    validation split, as those of OPUS, gives the last hundredth of its training pairs,
    3 000 at most, which training then does not see.

    Raises:
      UserError: if there is nothing to train on.
    """
    if not splits.get("train"):
        raise UserError(
            f"The data set has no training pairs; its splits are "
            f"{', '.join(splits) or 'none'}."
        )
    expressions = {
        split: split for split in ("train", "validation", "test") if splits.get(split)
    }
    if "validation" not in expressions:
        loan = max(1, min(_LARGEST_LOAN, splits["train"] // 100))
        expressions["train"] = f"train[:-{loan}]"
        expressions["validation"] = f"train[-{loan}:]"
    return expressions
