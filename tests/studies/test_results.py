"""A study leaves three files, and goes on with the runs that it left."""

import json
import sys

import pytest

from tests.studies.toy import TOY
from transformer_jax.commands import study as command
from transformer_jax.studies import STUDIES


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.setitem(STUDIES, "toy", TOY)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["study", "toy", *map(str, arguments)])
        command.main()
        return capsys.readouterr()

    return run


def test_table_picture_and_numbers_are_written_and_the_table_printed(run, tmp_path):
    output = run("--size=small", "--output", tmp_path).out
    assert output.startswith("Halves\n\nseed  half of it\n")
    assert {path.name for path in tmp_path.iterdir()} == {
        "toy.json",
        "toy.md",
        "toy.svg",
    }
    record = json.loads((tmp_path / "toy.json").read_text())
    assert record["command"] == "python -m transformer_jax study toy --size small"
    assert record["sizes"] == {"num_steps": 1, "seeds": [3, 5]}
    assert set(record["seconds"]) == {"seed_3", "count 3", "seed_5", "count 5"}
    assert record["rows"][1] == {"seed": 5, "steps": 1, "half": 2.5}
    assert record["versions"]["jax"] and record["machine"]["processor"]
    page = (tmp_path / "toy.md").read_text()
    for text in (
        "# Halves\n\nSeeds are halved.\n\n![half of each seed](toy.svg)\n\n| seed |",
        "- A note.",
        "- command: `python -m transformer_jax study toy --size small`",
        "- seeds: 3, 5\n",
        "[toy.json](toy.json)",
    ):
        assert text in page


def test_the_same_study_draws_the_same_bytes(run, tmp_path):
    for name in "ab":
        run("--size=small", "--output", tmp_path / name)
    first, second = ((tmp_path / name / "toy.svg").read_bytes() for name in "ab")
    assert first == second


def test_runs_that_are_kept_are_not_trained_again(run, tmp_path):
    command = ("--size=small", "--output", tmp_path, "--workdirs", tmp_path / "runs")
    found = []
    for _ in range(2):
        run(*command)
        metrics = (tmp_path / "runs/seed_3/metrics.jsonl").read_text()
        seconds = json.loads((tmp_path / "toy.json").read_text())["seconds"]["seed_3"]
        found.append((metrics, seconds))
    assert found[0] == found[1]
