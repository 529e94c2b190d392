"""The command draws what it is asked for and ends with the right code."""

import json
import sys

import pytest

from transformer_jax.commands import plot


def _run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["plot", *map(str, arguments)])
    try:
        plot.main()
    except SystemExit as end:
        return end.code
    return 0


def test_curves_are_drawn_from_a_run(monkeypatch, tmp_path):
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 1, "train/loss": 2.0}))
    output = tmp_path / "curves.png"
    assert _run(monkeypatch, "curves", "--workdir", tmp_path, "--output", output) == 0
    assert output.stat().st_size > 0


def test_positions_are_drawn(monkeypatch, tmp_path):
    output = tmp_path / "positions.svg"
    sizes = ("--d-model", 16, "--length", 9)
    assert _run(monkeypatch, "positions", *sizes, "--output", output) == 0
    assert "d_model = 16" in output.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("positions",),
        ("positions", "--layout", "spiral", "--output", "x.png"),
        (
            "attention",
            "--workdir",
            "r",
            "--source",
            "s",
            "--head",
            "x",
            "--output",
            "o.png",
        ),
    ],
)
def test_wrong_usage_ends_with_two(monkeypatch, arguments):
    assert _run(monkeypatch, *arguments) == 2


def test_a_head_that_is_no_number_is_named(monkeypatch, capsys):
    options = ("--workdir", "run", "--source", "x", "--output", "x.png", "--head", "x")
    assert _run(monkeypatch, "attention", *options) == 2
    assert "--head: 'x' is no number, nor all." in capsys.readouterr().err


def test_a_wrong_suffix_ends_with_one_before_anything_is_drawn(monkeypatch, capsys):
    assert _run(monkeypatch, "curves", "--workdir", "nowhere", "--output", "x.gif") == 1
    assert "'x.gif'" in capsys.readouterr().err
