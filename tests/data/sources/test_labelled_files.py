import json

import pytest

from transformer_jax.data.labels import labels_from
from transformer_jax.data.sources.labelled_files import (
    LabelledFileSettings,
    open_labelled_files,
)
from transformer_jax.data.text_source import OpenRequest
from transformer_jax.errors import UserError

PAIR = ("en", "en")


def _open(
    tmp_path, content, name="train.tsv", languages=("en",), labels=None, **fields
):
    for file in (name, f"validation_{name}"):
        (tmp_path / file).write_text(content, encoding="utf-8")
    settings = LabelledFileSettings(
        str(tmp_path), train=name, validation=f"validation_{name}", **fields
    )
    labels = labels or labels_from("no,yes")
    request = OpenRequest(languages, 0, tmp_path, labels)
    return open_labelled_files(settings, request)["train"]


def test_columns_are_found_by_the_names_in_the_first_line(tmp_path):
    table = "index\tlabel\tsentence\n0\tyes\tA dog sleeps .\n1\tno\tA cat.\n\n"
    texts = _open(tmp_path, table)
    assert list(texts.all_texts()) == [("A dog sleeps .", "yes"), ("A cat.", "no")]
    assert texts[1] == ("A cat.", "no") and len(texts) == 2
    assert texts.gather([1, 0])[1] == texts[0]


def test_columns_go_by_number_where_there_are_no_names(tmp_path):
    table = "yes\tA dog.\tA cat.\nno\tA fox.\t\n"
    fields = {"text_columns": "2,1", "label_column": "0"}
    texts = _open(tmp_path, table, languages=PAIR, **fields)
    assert list(texts.all_texts()) == [("A cat.", "A dog.", "yes")]
    assert texts.drops == {"empty": 1}


def test_lines_of_json_may_hold_lists_and_numbers(tmp_path):
    rows = [{"words": ["A", "dog"], "tags": ["O", "X"]}, {"words": "B", "tags": "X"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    fields = {"text_columns": "words", "label_column": "tags"}
    labels = labels_from("O,X", is_of_words=True)
    texts = _open(tmp_path, lines, "train.jsonl", labels=labels, **fields)
    assert list(texts.all_texts()) == [("A dog", "O X"), ("B", "X")]
    lines = '{"sentence": "two\\nlines\\tof text", "label": 1}\n'
    texts = _open(tmp_path, lines, "train.jsonl", labels=labels_from("0,1"))
    assert texts[0] == ("two lines of text", "1")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("", "train.tsv", "no column 'sentence'|is empty"),
        ("text\tlabel\nA\tyes\n", "train.tsv", "no column 'sentence'; its first line"),
        ("sentence\tlabel\nA\tja\n", "train.tsv", "line 2: the label 'ja' is none"),
        ("sentence\tlabel\nA\tb\tyes\n", "train.tsv", "line 2: 3 columns, where the"),
        ("sentence\tlabel\nA\n", "train.tsv", "line 2: 1 columns"),
        ("sentence\tlabel\n\n", "train.tsv", "holds no labelled text"),
        ('{"sentence": "A"\n', "train.jsonl", "line 1: no JSON"),
        ("[1]\n", "train.jsonl", "line 1: no JSON object"),
        ('{"sentence": "A", "lable": "yes"}\n', "train.jsonl", "Did you mean lable"),
        ('{"sentence": "A", "label": true}\n', "train.jsonl", "label 'true' is none"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(tmp_path, content, name, message):
    with pytest.raises(UserError, match=message):
        _open(tmp_path, content, name)


def test_each_word_needs_its_label(tmp_path):
    labels = labels_from("O,X", is_of_words=True)
    with pytest.raises(UserError, match="line 2: 3 words, but 2 labels"):
        _open(tmp_path, "sentence\tlabel\nA big dog\tO X\n", labels=labels)


def test_fields_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"labelled.validation is empty"):
        open_labelled_files(
            LabelledFileSettings(train="x"), OpenRequest(("en",), 0, tmp_path)
        )
    with pytest.raises(UserError, match="names 1, but texts have 2 sentences"):
        _open(tmp_path, "x", languages=PAIR)
    with pytest.raises(UserError, match="names for all, or numbers for all"):
        _open(tmp_path, "x", text_columns="0")
    with pytest.raises(UserError, match="nothing.tsv"):
        settings = LabelledFileSettings(str(tmp_path), "nothing.tsv", "nothing.tsv")
        open_labelled_files(settings, OpenRequest(("en",), 0, tmp_path))
