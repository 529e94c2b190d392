import gzip
import io
import logging
import os

import pytest

from transformer_jax.data import lines
from transformer_jax.data.lines import iter_lines, read_lines
from transformer_jax.errors import UserError

# Each of these ends a line for str.splitlines, and none of them does here.
SEPARATORS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029\r"


@pytest.mark.parametrize("separator", SEPARATORS)
def test_only_a_newline_ends_a_line(separator):
    text = f"one{separator}still one\ntwo\n"
    assert list(iter_lines(io.BytesIO(text.encode()))) == [
        f"one{separator}still one",
        "two",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\n", ["a\r"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "b"]),
        (b"a\xef\xbb\xbfb\xef\xbb\xbf\r\n\xef\xbb\xbf", ["ab"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
        (b" a \n\t\n", [" a ", "\t"]),
        (b"a\0b\n", ["a\0b"]),
    ],
)
def test_lines_by_hand(content, expected, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(content)
    assert list(iter_lines(io.BytesIO(content))) == expected
    assert read_lines(path) == expected


def test_what_is_odd_about_a_text_is_counted_and_said(caplog):
    content = "\ufeffa\r\nb\u2028c\r\n\x85d\re\n".encode()
    with caplog.at_level(logging.INFO):
        assert len(list(iter_lines(io.BytesIO(content), "my text"))) == 3
    assert caplog.messages == [
        "my text: carriage returns stripped: 2, byte-order marks stripped: 1, other "
        "separators kept inside lines: 3"
    ]


def test_nothing_is_said_of_a_plain_text(caplog):
    with caplog.at_level(logging.INFO):
        list(iter_lines(io.BytesIO("a\nß\n".encode())))
    assert not caplog.messages


def test_gzip_is_read_by_content_and_over_several_members(tmp_path):
    path = tmp_path / "no_suffix"
    path.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\n"))
    assert read_lines(path) == ["a", "bc"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_loses_no_line(pack):
    read_end, write_end = os.pipe()
    with open(write_end, "wb") as pipe:
        pipe.write(pack(b"a\n" * 3000))
    try:
        assert read_lines(f"/dev/fd/{read_end}") == ["a"] * 3000
    finally:
        os.close(read_end)


def test_a_line_that_is_not_utf8_is_named():
    with pytest.raises(UserError, match=r"notes, line 3: byte 0xe9 at byte 2 .*iconv"):
        list(iter_lines(io.BytesIO(b"a\nb\nc\xe9d\n"), "notes"))


@pytest.mark.parametrize("damage", ["cut", "flipped", "plain"])
def test_a_broken_gzip_is_named(tmp_path, damage):
    packed = bytearray(gzip.compress(bytes(range(97, 123)) * 100))
    if damage == "cut":
        del packed[-12:]
    elif damage == "flipped":
        packed[-6] ^= 1
    else:
        packed = bytearray(b"plain text\n")
    path = tmp_path / "text.gz"
    path.write_bytes(packed)
    with pytest.raises(UserError, match=r"text\.gz is not a whole gzip file"):
        read_lines(path)


def test_a_dash_is_standard_input(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(b"a\nb\n"))
    monkeypatch.setattr(lines, "STANDARD_INPUT", str(path))
    assert read_lines("-") == ["a", "b"]


def test_a_missing_file_and_a_directory_are_named(tmp_path):
    with pytest.raises(UserError, match="There is no file .*absent"):
        read_lines(tmp_path / "absent")
    with pytest.raises(UserError, match="is a directory"):
        read_lines(tmp_path)
