"""GLUE by way of TensorFlow Datasets: its own builder, on made-up archives."""

import functools
import zipfile

import pytest

from tests.data.sources.wmt14_archives import any_checksum
from transformer_jax.data.labels import labels_from
from transformer_jax.data.sources.tfds_labels import (
    TfdsLabelSettings,
    check_columns,
    open_tfds_labels,
)
from transformer_jax.data.sources.tfds_preparation import prepare
from transformer_jax.data.text_source import OpenRequest
from transformer_jax.errors import UserError

NAME = "glue/rte"
SETTINGS = TfdsLabelSettings(NAME, text_columns="sentence1,sentence2")
LABELS = labels_from("entailment,not_entailment")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    root = tmp_path_factory.mktemp("glue")
    rows = [
        f"{n}\tIt is {n}.\tIs it {n}?\t{'not_' * (n % 2)}entailment" for n in range(6)
    ]
    names = "index\tsentence1\tsentence2"
    content = {
        "train": [f"{names}\tlabel", *rows],
        "dev": [f"{names}\tlabel", *rows[:2]],
        "test": [names, *(row.rpartition("\t")[0] for row in rows[:3])],
    }
    with zipfile.ZipFile(root / "RTE.zip", "w") as archive:
        for split, lines in content.items():
            archive.writestr(f"RTE/{split}.tsv", "".join(f"{li}\n" for li in lines))
    with any_checksum():
        check = functools.partial(check_columns, SETTINGS)
        prepare(NAME, str(root / "data"), check, str(root))
    return str(root / "data")


def _open(directory, labels=LABELS, languages=("en", "en"), **fields):
    settings = TfdsLabelSettings(
        NAME, directory, **{"text_columns": "sentence1,sentence2"} | fields
    )
    return open_tfds_labels(settings, OpenRequest(languages, 0, None, labels))


def test_texts_come_with_the_names_of_their_classes(directory):
    splits = _open(directory)
    assert splits.keys() == {"train", "validation"}
    assert sorted(splits["train"].all_texts()) == [
        (f"It is {n}.", f"Is it {n}?", LABELS.names[n % 2]) for n in range(6)
    ]
    assert len(splits["validation"]) == 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": labels_from("no,yes")}, "classes entailment,not_entailment; set"),
        ({"text_columns": "sentence1,sentence"}, "no text called 'sentence'; it has"),
        ({"label_column": "idx"}, "no class called 'idx'; it has label"),
        ({"text_columns": "sentence1"}, "names 1, but texts have 2 sentences"),
        ({"validation_split": "dev"}, "no split 'dev', only .*validation"),
        # Its classes are not given.
        ({"validation_split": "test"}, "whose label is not given"),
    ],
)
def test_what_does_not_fit_is_refused(directory, fields, message):
    with pytest.raises(UserError, match=message):
        list(_open(directory, **fields)["validation"].all_texts())
