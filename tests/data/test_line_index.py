import os

import numpy as np
import pytest

from transformer_jax.data import line_index
from transformer_jax.data.line_index import LineIndex
from transformer_jax.data.lines import LineCounts, read_lines
from transformer_jax.errors import UserError


def _write(path, content):
    path.write_bytes(content)
    return path


def test_any_line_is_found_whatever_the_block_size(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    alphabet = ["a", "é", "中", "😀", " ", "\n", "\r\n", "\u2028", "\x85", "\t"]
    text = "".join(rng.choice(alphabet, 3000)) + "\0\nno\0\n\0end"
    path = _write(tmp_path / "text", text.encode())
    expected = read_lines(path)
    for block in (1, 7, 64, 1 << 20):
        monkeypatch.setattr(line_index, "_BLOCK_BYTES", block)
        index = LineIndex(path, tmp_path / f"index{block}")
        assert [index[i] for i in range(len(index))] == expected
        blank = [
            i for i, line in enumerate(expected) if not line.strip("\0 \t\x85\u2028")
        ]
        assert index.blank.tolist() == blank
        assert index.counts == LineCounts(
            lines=len(expected),
            carriage_returns=text.count("\r\n"),
            separators_inside_lines=text.count("\u2028") + text.count("\x85"),
            nulls=text.count("\0"),
        )


def test_lines_of_white_space_and_invisible_characters_alone_are_blank(tmp_path):
    blank = "\u3000\xa0|\u2003 \t|\u200b|\x85|\xad\u2060|\ufeff|\0|\x1b\x7f|\u3164"
    blank = (blank + "|\u200e\u202a|\ufe0f|\U000e0041").split("|")
    shown = "a|中|\xa0b|-|\u200bの|\xad1|สวัสดี|ё|\U0001f600|한".split("|")
    path = _write(tmp_path / "text", "\n".join(shown + blank + shown).encode())
    index = LineIndex(path, tmp_path)
    first = len(shown)
    assert index.blank.tolist() == list(range(first, first + len(blank)))


def test_every_byte_order_mark_is_stripped_and_counted(tmp_path, monkeypatch):
    mark = "\ufeff"
    content = f"{mark}one\n{mark}two{mark}three\r\n{mark}\n\nend\n{mark}".encode()
    path = _write(tmp_path / "text", content)
    for block in (1, 1 << 20):
        monkeypatch.setattr(line_index, "_BLOCK_BYTES", block)
        index = LineIndex(path, tmp_path / f"index{block}")
        lines = [index[i] for i in range(len(index))]
        assert lines == read_lines(path) == ["one", "twothree", "", "", "end"]
        assert index.counts.byte_order_marks == 5
        assert index.blank.tolist() == [2, 3]


def test_an_index_is_used_again_until_the_file_changes(tmp_path, monkeypatch):
    path = _write(tmp_path / "text", b"one\ntwo\n")
    first = LineIndex(path, tmp_path / "index")
    builds = []
    monkeypatch.setattr(
        LineIndex, "_build", lambda self, *args: builds.append(self.path)
    )
    assert LineIndex(path, tmp_path / "index").sha256 == first.sha256
    assert not builds
    monkeypatch.undo()
    path.write_bytes(b"one\n2\n3\n")
    changed = LineIndex(path, tmp_path / "index")
    assert [changed[i] for i in range(len(changed))] == ["one", "2", "3"]
    assert changed.sha256 != first.sha256


def test_an_interrupted_build_is_made_again(tmp_path):
    path = _write(tmp_path / "text", b"one\ntwo\n")
    LineIndex(path, tmp_path / "index")
    (summary,) = (tmp_path / "index").glob("*.json")
    (offsets,) = (tmp_path / "index").glob("*.offsets")
    summary.unlink()
    offsets.write_bytes(b"half")
    assert LineIndex(path, tmp_path / "index")[1] == "two"
    assert not list((tmp_path / "index").glob("*.partial"))


def test_a_very_long_line_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(line_index, "_BLOCK_BYTES", 1 << 10)
    path = _write(tmp_path / "text", b"x" * 3_000_000 + b"\nshort\n")
    index = LineIndex(path, tmp_path)
    assert len(index[0]) == 3_000_000
    assert index[1] == "short"


def test_a_byte_that_is_not_utf8_is_found_in_any_block(tmp_path, monkeypatch):
    monkeypatch.setattr(line_index, "_BLOCK_BYTES", 16)
    path = _write(tmp_path / "text", b"line\n" * 20 + b"br\xffken\n" + b"line\n" * 5)
    with pytest.raises(UserError, match=r"text, line 21: byte 0xff at byte 3 "):
        LineIndex(path, tmp_path)


def test_a_character_cut_off_at_the_end_is_an_error(tmp_path):
    path = _write(tmp_path / "text", b"fine\n\xe2\x80")
    with pytest.raises(UserError, match="line 2: byte 0xe2"):
        LineIndex(path, tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(tmp_path, content):
    path = _write(tmp_path / "text", content)
    with pytest.raises(UserError, match="text is empty; one sentence on each line"):
        LineIndex(path, tmp_path)


def test_a_full_disk_is_told_in_words(tmp_path, monkeypatch):
    path = _write(tmp_path / "text", b"one\n")

    def fail(_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match="Cannot write .*No space left.*Free some"):
        LineIndex(path, tmp_path / "index")
    assert not list((tmp_path / "index").iterdir())
