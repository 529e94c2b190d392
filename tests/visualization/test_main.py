"""The command draws what it is asked for and ends with the right code."""

import json
import sys
import types

import numpy as np
import pytest

import transformer_jax
from transformer_jax.visualization import __main__ as entry
from transformer_jax.visualization import attention


def _run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["visualization", *map(str, arguments)])
    try:
        entry.main()
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


@pytest.fixture
def run(monkeypatch):
    """A run whose translation is its source in capitals."""

    class Run:
        model = params = source_tokenizer = target_tokenizer = None

        def translator(self, **_):
            return types.SimpleNamespace(
                translate=lambda lines: [types.SimpleNamespace(text=lines[0].upper())]
            )

    seen = {}

    def collect(*arguments):
        seen["source"], seen["target"] = arguments[-2:]
        weights = np.full((2, 3, 1, 1), 0.5, np.float32)
        kinds = dict.fromkeys(attention.KINDS, weights)
        return attention.AttentionMaps(kinds, ("a",), ("b",), ("c",))

    experiment = types.ModuleType("transformer_jax.experiment")
    experiment.load_run = lambda *_: Run()
    monkeypatch.setitem(sys.modules, "transformer_jax.experiment", experiment)
    monkeypatch.setattr(transformer_jax, "experiment", experiment, raising=False)
    monkeypatch.setattr(attention, "collect_attention", collect)
    return seen


@pytest.mark.parametrize(
    ("given", "target"), [(("--target", "ein Hund"), "ein Hund"), ((), "A DOG")]
)
def test_attention_takes_the_given_target_or_the_models_own(
    monkeypatch, tmp_path, run, given, target
):
    output = tmp_path / "attention.png"
    arguments = ("--workdir", tmp_path, "--source", "a dog", *given, "--output", output)
    assert _run(monkeypatch, "attention", *arguments, "--head", "all") == 0
    assert run == {"source": "a dog", "target": target}
    assert output.stat().st_size > 0


def test_a_head_that_does_not_exist_ends_with_one(monkeypatch, tmp_path, run, capsys):
    arguments = ("--workdir", "r", "--source", "a", "--target", "b", "--head", 4)
    output = tmp_path / "attention.png"
    assert _run(monkeypatch, "attention", *arguments, "--output", output) == 1
    assert "error: There is no head 4" in capsys.readouterr().err


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


def test_a_wrong_suffix_ends_with_one_before_anything_is_drawn(monkeypatch, capsys):
    assert _run(monkeypatch, "curves", "--workdir", "nowhere", "--output", "x.gif") == 1
    assert "'x.gif'" in capsys.readouterr().err
