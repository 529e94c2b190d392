"""A study leaves three files, and goes on with the runs that it left."""

import contextlib
import io
import json
import sys

import pytest

from tests.studies.toy import TOY
from transformer_jax.commands import study as command
from transformer_jax.studies import STUDIES
from transformer_jax.studies.results import write_results


def _run(folder):
    """Run the study with its runs below the folder; return what is printed."""
    arguments = ["toy", "--size=small", f"--output={folder}"]
    arguments += [f"--workdirs={folder}/runs"]
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setitem(STUDIES, "toy", TOY)
        patch.setattr(sys, "argv", ["study", *arguments])
        command.main()
    return printed.getvalue()


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return the folder of a study that was run, and what it printed."""
    folder = tmp_path_factory.mktemp("study")
    return folder, _run(folder)


@pytest.mark.slow
def test_table_picture_and_numbers_are_written_and_the_table_printed(measured):
    folder, output = measured
    assert output.startswith("Halves\n\nseed  half of it\n")
    files = {path.name for path in folder.iterdir()} - {"runs"}
    assert files == {"toy.json", "toy.md", "toy.svg"}
    record = json.loads((folder / "toy.json").read_text())
    words = "python -m transformer_jax study toy --size small --workdirs DIR"
    assert record["command"] == words
    assert record["sizes"] == {"num_steps": 1, "seeds": [5]}
    assert set(record["seconds"]) == {"seed_5", "count 5"}
    assert record["rows"][0] == {"seed": 5, "steps": 1, "half": 2.5}
    assert record["versions"]["jax"] and record["machine"]["processor"]
    page = (folder / "toy.md").read_text()
    for text in (
        "# Halves\n\nSeeds are halved.\n\n![half of each seed](toy.svg)\n\n| seed |",
        "- A note.",
        f"- command: `{words}`",
        "- seeds: 5\n",
        "[toy.json](toy.json)",
    ):
        assert text in page


@pytest.mark.slow
def test_the_same_rows_are_written_as_the_same_bytes(measured, tmp_path):
    record = json.loads((measured[0] / "toy.json").read_text())
    write_results(TOY, record, tmp_path, "toy")
    for name in ("toy.json", "toy.md", "toy.svg"):
        assert (tmp_path / name).read_bytes() == (measured[0] / name).read_bytes()


@pytest.mark.slow
def test_runs_that_are_kept_are_not_trained_again(measured):
    folder, _ = measured
    files = folder / "runs/seed_5/metrics.jsonl", folder / "toy.json"

    def found():
        metrics, record = (file.read_text() for file in files)
        return metrics, json.loads(record)["seconds"]["seed_5"]

    before = found()
    _run(folder)
    assert found() == before
