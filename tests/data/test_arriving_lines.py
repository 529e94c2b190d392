import os
import time

import pytest

from transformer_jax.data.arriving_lines import ArrivingLines
from transformer_jax.errors import UserError


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def _now() -> float:
    return time.monotonic()


def test_lines_come_as_they_are_written(pipe):
    reading, writing = pipe
    lines = ArrivingLines(reading)
    assert not lines.comes_by(_now())
    os.write(writing, b"one\ntwo\nthr")
    found = iter(lines)
    assert lines.comes_by(_now()) and next(found) == b"one\n"
    assert lines.comes_by(_now()) and next(found) == b"two\n"
    assert not lines.comes_by(_now() + 0.01)  # half a line is none
    os.write(writing, b"ee\n\n")
    assert next(found) == b"three\n"
    assert next(found) == b"\n"
    os.write(writing, b"the last")
    os.close(writing)
    assert lines.comes_by(_now() + 60) and list(found) == [b"the last"]
    assert lines.comes_by(_now())  # the end has come, and stays


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"a", b"a\n", b"\n\na\r\nb\x0bc\n\n", b"ab\n" * 100_000]
)
def test_a_file_has_the_lines_that_end_at_newlines_and_no_others(tmp_path, text):
    path = tmp_path / "text"
    path.write_bytes(text)
    with path.open("rb") as file:
        expected = list(file)
    with path.open("rb") as file:
        lines = ArrivingLines(file.fileno())
        assert [line for line in lines if lines.comes_by(_now())] == expected


def test_a_line_may_be_longer_than_what_is_read_at_a_time(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a" * 1_000_000 + b"\nb\n")
    with path.open("rb") as file:
        assert [len(line) for line in ArrivingLines(file.fileno())] == [1_000_001, 2]


def test_what_cannot_be_read_is_said(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(UserError, match="Cannot read the text: Is a directory"):
        list(ArrivingLines(descriptor))
    os.close(descriptor)
