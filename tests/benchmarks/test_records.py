import argparse
import json

import pytest

from benchmarks.records import (
    RESULTS,
    command_line,
    read_record,
    record,
    results_table,
)
from transformer_jax.reports.render import render
from transformer_jax.text_table import WIDTH


def test_a_record_has_what_it_must(tmp_path, capsys):
    path = tmp_path / "new" / "x.json"
    options = argparse.Namespace(output=str(path), note="noisy")
    record(options, "nothing", [{"a": "b", "c": 1.0}], {"device_kind": "abacus"})
    content = read_record(path)
    assert content["rows"] == [{"a": "b", "c": 1.0}]
    assert content["machine"]["device_kind"] == "abacus"
    assert "nothing\n\na     c\n" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda p: p.stem)
def test_the_results_state_machine_and_versions(path):
    read_record(path)


def test_what_lacks_a_version_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"versions": {"jax": "1"}, "rows": []}))
    with pytest.raises(ValueError, match="lacks work.*machine.cores.*versions.jaxlib"):
        read_record(path)


def test_a_command_does_not_tell_places_on_the_machine():
    argv = ["/home/me/benchmarks/train.py", "--flax_examples", "/home/me/flax"]
    argv += ["--output=/home/x.json", "--note", "a b", "--only", "torch.compile"]
    assert command_line(argv) == (
        "python -m benchmarks.train --flax_examples PATH --only torch.compile"
    )


def test_figures_of_a_column_share_their_decimals():
    rows = [{"ms": 2825.0658, "gib": 0.8887, "n": 3}, {"ms": 10.2243, "gib": None}]
    lines = render(results_table("Figures", rows), "table").splitlines()
    assert [line.split() for line in lines[-2:]] == [
        ["2825.1", "0.889", "3"],
        ["10.2", "–", "–"],
    ]


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda p: p.stem)
def test_results_fit_a_terminal(path):
    table = render(results_table("Results", read_record(path)["rows"]), "table")
    assert max(map(len, table.splitlines())) <= WIDTH
