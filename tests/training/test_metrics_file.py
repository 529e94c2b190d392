import json

from transformer_jax.training.metrics_file import read_rows
from transformer_jax.training.writers import JsonLinesWriter

ROWS = [{"step": 10, "train/loss": 5.0}, {"step": 20, "validation/loss": None}]


def _write(path, *lines):
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _lines(rows):
    return [json.dumps(row) + "\n" for row in rows]


def test_rows_come_as_they_were_written(tmp_path):
    writer = JsonLinesWriter(tmp_path / "metrics.jsonl")
    writer.begin(0, 20)
    writer.write(10, {"train/loss": 5.0})
    writer.write(20, {"validation/loss": float("nan")})
    writer.close()
    assert list(read_rows(tmp_path / "metrics.jsonl")) == ROWS


def test_a_last_line_cut_anywhere_is_passed_over(tmp_path):
    last = json.dumps({"step": 30, "train/loss": 4.0})
    for length in range(len(last)):
        path = _write(tmp_path / "metrics.jsonl", *_lines(ROWS), last[:length])
        assert list(read_rows(path)) == ROWS


def test_a_whole_row_counts_without_the_end_of_its_line(tmp_path):
    path = _write(tmp_path / "metrics.jsonl", json.dumps(ROWS[0]))
    assert list(read_rows(path)) == ROWS[:1]


def test_what_is_no_object_with_a_step_is_passed_over(tmp_path):
    damage = ["\n", "null\n", "[1]\n", '{"step": null}\n', '{"a": 1}\n', "\ufffd\n"]
    first, second = _lines(ROWS)
    path = _write(tmp_path / "metrics.jsonl", first, *damage, second)
    assert list(read_rows(path)) == ROWS


def test_a_file_with_broken_characters_keeps_its_other_rows(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1, \xff\n' + _lines(ROWS)[0].encode())
    assert list(read_rows(path)) == ROWS[:1]


def test_a_run_that_has_written_nothing_has_no_rows(tmp_path):
    assert list(read_rows(tmp_path / "metrics.jsonl")) == []
