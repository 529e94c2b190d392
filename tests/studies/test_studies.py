"""Every study in its small form, and what docs/results holds of them."""

import dataclasses
import json
import re
import sys

import pytest

from tests.documents import ROOT
from transformer_jax.commands import study as command
from transformer_jax.studies import STUDIES
from transformer_jax.studies.results import make_page

RESULTS = ROOT / "docs/results"
# Theirs run in test_translation_runs.py.
_OF_RUNS = {"bottleneck", "quality"}
# The same seeds give the same rows: tried on one that trains.
_REPEATED = "long_dependencies"


def _rows(folder, name, monkeypatch):
    """Run a study's small form; return its rows, but for what a clock says."""
    arguments = [name, "--size=small", "--output", str(folder)]
    monkeypatch.setattr(sys, "argv", ["study", *arguments])
    command.main()
    assert {path.suffix for path in folder.iterdir()} == {".md", ".svg", ".json"}
    record = json.loads((folder / f"{name}.json").read_text())
    assert record["sizes"]
    return [
        {key: value for key, value in row.items() if "seconds" not in key}
        for row in record["rows"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(STUDIES.keys() - _OF_RUNS))
def test_the_small_form_runs(name, tmp_path, monkeypatch):
    first = _rows(tmp_path / "first", name, monkeypatch)
    assert first
    if name == _REPEATED:
        assert _rows(tmp_path / "second", name, monkeypatch) == first


@pytest.mark.parametrize("name", [path.stem for path in RESULTS.glob("*.json")])
def test_the_results_in_docs_are_of_the_full_form_as_it_is_now(name):
    record = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    typed = rf"python -m transformer_jax study {name}( --data DIR)?( --workdirs DIR)?"
    assert re.fullmatch(typed, record["command"])
    sizes = dataclasses.asdict(STUDIES[name].sizes["full"])
    assert record["sizes"] == json.loads(json.dumps(sizes))
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert page == make_page(STUDIES[name], record, name)
    assert (RESULTS / f"{name}.svg").is_file()
