"""Lines that are there together are worked on together."""

import pathlib
from collections.abc import Iterator

import pytest

from transformer_jax.data import arriving_lines
from transformer_jax.data.arriving_lines import ArrivingLines, blocks_of_lines
from transformer_jax.errors import UserError


def _blocks(path: pathlib.Path, text: bytes) -> Iterator[list[str]]:
    path.write_bytes(text)
    with path.open("rb") as file:
        yield from blocks_of_lines(ArrivingLines(file.fileno()))


def test_what_is_there_comes_together(tmp_path, monkeypatch):
    blocks = _blocks(tmp_path / "text", b"word\n" * 9_000)
    assert [len(block) for block in blocks] == [4_000, 4_000, 1_000]
    monkeypatch.setattr(arriving_lines, "_MOST_CHARACTERS", 10)
    blocks = _blocks(tmp_path / "text", b"four\nfour\nfour\nand more than ten\n\n")
    assert [len(block) for block in blocks] == [3, 1, 1]
    assert list(_blocks(tmp_path / "text", b"")) == []


def test_a_line_that_is_not_text_comes_after_the_block_before_it(tmp_path):
    blocks = _blocks(tmp_path / "text", b"a\nb\n\xff\nc\n")
    assert next(blocks) == ["a", "b"]
    with pytest.raises(UserError, match="line 3"):
        next(blocks)
