import gzip
import os
import pickle

import pytest

from transformer_jax.data.sources.text_files import (
    TextFiles,
    TextFileSettings,
    open_text_files,
)
from transformer_jax.data.text_source import OpenRequest
from transformer_jax.errors import UserError


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write_file


def _pairs(source):
    return [source[i] for i in range(len(source))]


def test_several_aligned_files_are_read_in_order(write):
    source = TextFiles(
        [write("a.en", "one\ntwo\n"), write("b.en.gz", "three")],
        [write("a.de", "eins\nzwei"), write("b.de", "drei\n")],
    )
    assert _pairs(source) == [("one", "eins"), ("two", "zwei"), ("three", "drei")]
    with pytest.raises(IndexError):
        source[3]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_tab_separated_files_are_read(write, name):
    text = "one\teins\n\n\tzwei\nthree\t \nfour\tvier\r\n"
    source = TextFiles(
        [write(name, text), write("more.tsv", "five\tfünf")], has_columns=True
    )
    assert _pairs(source) == [("one", "eins"), ("four", "vier"), ("five", "fünf")]
    assert source.drops == {"empty": 3}


def test_pairs_with_a_blank_side_are_skipped_and_the_rest_stay_aligned(write):
    source = TextFiles(
        [write("a.en", "1\n\n3\n4\n \n6\n"), write("b.en", "\n8\n")],
        [write("a.de", "1\n2\n\t\n4\n\n6\n"), write("b.de", "7\n8\n")],
    )
    assert _pairs(source) == [("1", "1"), ("4", "4"), ("6", "6"), ("8", "8")]
    assert source.drops == {"empty": 4}


def test_what_is_odd_is_kept_in_its_line_counted_and_said(write):
    source = TextFiles(
        [write("a.en", "\ufeffone\r\ntwo\u2028still two\r\nthree\x85\f\n")],
        [write("a.de", "eins\n\n\x0bdrei\0\n")],
    )
    assert _pairs(source) == [("one", "eins"), ("three\x85\f", "\x0bdrei\0")]
    for part in (
        "2 pairs",
        "skipped 1 with an empty side",
        "carriage returns stripped: 2",
        "byte-order marks stripped: 1",
        "kept inside lines: 4",
    ):
        assert part in source.describe()


def test_a_source_can_be_sent_to_another_process(write):
    source = TextFiles([write("a", "x\ny\n")], [write("b", "u\nv\n")])
    assert source[0] == ("x", "u")
    assert _pairs(pickle.loads(pickle.dumps(source))) == [("x", "u"), ("y", "v")]


def test_the_fingerprint_follows_the_text_not_the_path(write):
    source = TextFiles([write("a", "x\n")], [write("b", "y\n")]).fingerprint()
    moved = TextFiles([write("c", "x\n")], [write("d.gz", "y\n")]).fingerprint()
    swapped = TextFiles([write("b", "y\n")], [write("a", "x\n")]).fingerprint()
    assert source == moved
    assert len({source, swapped}) == 2


def test_files_of_different_lengths_are_refused_with_both_counts(write):
    source, target = write("a.en", "1\n2\n3\n"), write("a.de", "1\n2\n")
    with pytest.raises(UserError, match=r"a\.en has 3 lines but .*a\.de has 2"):
        TextFiles([source], [target])


def test_equal_totals_do_not_hide_files_of_different_lengths(write):
    long, short = write("long", "1\n2\n"), write("short", "1\n")
    with pytest.raises(UserError, match="long has 2 lines but .*short has 1"):
        TextFiles([long, short], [short, long])


def test_the_number_of_files_must_agree(write):
    path = write("a", "x\n")
    with pytest.raises(UserError, match="2 source files but 1 target files"):
        TextFiles([path, path], [path])
    with pytest.raises(UserError, match="No text files are named"):
        TextFiles([], [])
    with pytest.raises(TypeError, match="list of paths"):
        TextFiles(str(path), [path])


@pytest.mark.parametrize(
    ("text", "line", "tabs"),
    [("a\tb\nc\n", 2, 0), ("a\tb\tc\n", 1, 2), ("a\tb\n\t\t\n", 2, 2)],
)
def test_a_line_without_exactly_one_tab_is_named(write, text, line, tabs):
    path = write("pairs.tsv", text)
    message = rf"pairs\.tsv, line {line}: found {tabs} tabs, expected exactly one"
    with pytest.raises(UserError, match=message):
        TextFiles([path], has_columns=True)


def test_files_that_cannot_be_read_are_named(write, tmp_path):
    good = write("good", "x\n")
    with pytest.raises(UserError, match="There is no file .*absent"):
        TextFiles([good], [tmp_path / "absent"])
    with pytest.raises(UserError, match="is a directory"):
        TextFiles([tmp_path], [good])
    with pytest.raises(UserError, match="empty is empty"):
        TextFiles([good], [write("empty", "")])
    with pytest.raises(UserError, match="latin, line 1: byte 0xfc"):
        TextFiles([write("latin", b"\xfcber\n")], [good])
    packed = write("cut.gz", "text\n" * 100)
    packed.write_bytes(packed.read_bytes()[:-10])
    with pytest.raises(UserError, match=r"cut\.gz is not a whole gzip file"):
        TextFiles([packed], [good])


def _open(tmp_path, **fields):
    settings = TextFileSettings(directory=str(tmp_path), **fields)
    return open_text_files(settings, OpenRequest(("en", "de"), 0, tmp_path / "index"))


@pytest.fixture
def four(write):
    """Name the two sides of two splits, as fields."""
    return {
        f"{split}_{side}": write(f"{split}.{side}", "x\n").name
        for split in ("train", "validation")
        for side in ("source", "target")
    }


@pytest.mark.parametrize("field", ["train_source", "validation_target"])
def test_a_pipe_is_refused_before_anything_is_read(field, four, tmp_path):
    assert set(_open(tmp_path, **four)) == {"train", "validation"}
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "/dev/null", "-"):
        with pytest.raises(UserError, match=f"{name} is a pipe or a device.*regular"):
            _open(tmp_path, **four | {field: name})
    with pytest.raises(UserError, match="fifo is a pipe"):
        TextFiles([tmp_path / "fifo"], [tmp_path / "train.source"])


def test_a_link_that_leads_nowhere_is_named_as_that(four, write, tmp_path):
    (tmp_path / "link").symlink_to("gone")
    for path in ("link", "link/train.en"):
        with pytest.raises(UserError, match=r"no file .*link is a link to gone, which"):
            _open(tmp_path, **four | {"train_source": path})


def test_a_comma_inside_a_file_name_is_explained(four, write, tmp_path):
    write("Haus, Hof.en", "x\n")
    write("Haus, Hof.de", "x\n")
    source = four | {"train_source": "Haus, Hof.en"}
    with pytest.raises(UserError, match="2 source files but 1 target.*Commas part"):
        _open(tmp_path, **source)
    with pytest.raises(UserError, match="no file .*/Haus.*Commas part.*rename"):
        _open(tmp_path, **source | {"train_target": "Haus, Hof.de"})


def test_text_without_a_single_pair_is_refused(write):
    with pytest.raises(UserError, match="None of the 2 pairs in .* has text on both"):
        TextFiles([write("a", "x\n\n")], [write("b", "\ny\n")])


def test_a_file_that_is_missing_is_told_with_what_is_looked_for_and_there(
    four, write, tmp_path
):
    write("dev.source", "x\n")
    (tmp_path / "validation.source").unlink()
    with pytest.raises(UserError) as caught:
        _open(tmp_path, **four)
    for words in (
        f"There is no file {tmp_path / 'validation.source'}.",
        "Looked for are train.source, train.target, validation.source, validation.tar",
        f"; {tmp_path} holds dev.source, train.source, train.target, validation.target",
        "--config.data.validation_source=NAME.",
    ):
        assert words in str(caught.value)
    with pytest.raises(UserError, match="none is no directory. Name your folder by --"):
        _open(tmp_path / "none", **four)
    write("validation.source.gz", "x\n")
    with pytest.raises(UserError, match="on_source=validation.source.gz.$"):
        _open(tmp_path, **four)
    (tmp_path / "validation.source.gz").rename(tmp_path / "validation.source")
    with pytest.raises(UserError, match="without a test split, give an empty --config"):
        _open(tmp_path, **four, test_source="test.source", test_target="test.target")
    (tmp_path / "validation.source").unlink()
    for number in range(20):
        write(f"a{number}", "")
    with pytest.raises(UserError, match=r"holds a0, a1, a10, .* and \d+ more\. Ren"):
        _open(tmp_path, **four)


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        (
            "t.de",
            "t.en",
            "train_source=t.de is called by the language 'de', but source",
        ),
        (
            "t.txt",
            "t.eng.gz",
            "train_target=t.eng.gz .* target_language='de'.*Exchange",
        ),
        ("t.en, u.de", "t, u", "train_source=u.de is called"),
    ],
)
def test_files_called_by_the_other_language_are_refused(
    four, tmp_path, source, target, words
):
    settings = four | {"train_source": source, "train_target": target}
    with pytest.raises(UserError, match=words):
        _open(tmp_path, **settings)


def test_files_called_by_a_third_language_are_warned_of(four, write, tmp_path, caplog):
    fields = four | {"train_target": write("train.fr", "x\n").name}
    _open(tmp_path, **fields)
    (warning,) = [entry for entry in caplog.messages if "is it right?" in entry]
    assert "train_target=train.fr is called by the language 'fr'" in warning


def test_files_called_by_their_languages_are_not_warned_of(
    four, write, tmp_path, caplog
):
    names = ("a.en", "b.de-en.deu")
    fields = four | dict(
        zip(
            ("train_source", "train_target"),
            [write(name, "x\n").name for name in names],
            strict=True,
        )
    )
    _open(tmp_path, **fields)
    assert "called by" not in caplog.text


def test_a_blank_line_and_the_end_of_a_file_end_a_document(write):
    files = [write("a.txt", "\none\ntwo\n\n\nthree\n"), write("b.txt", "four\n")]
    source = TextFiles(files, has_documents=True)
    (one, first), (two, same), (three, second), (four, third) = _pairs(source)
    assert (one, two, three, four) == ("one", "two", "three", "four")
    assert first == same and len({first, second, third}) == 3
    assert [text for text in source.all_texts() if text[0]] == _pairs(source)
    assert source.describe().endswith("4 lines; 3 blank lines part documents")
    assert source.fingerprint() != TextFiles(files).fingerprint()
