import argparse
import json

import pytest

from benchmarks.records import RESULTS, command_line, read_record, record


def test_a_record_has_what_it_must(tmp_path, capsys):
    path = tmp_path / "new" / "x.json"
    options = argparse.Namespace(output=str(path), note="noisy")
    record(options, "nothing", [{"a": "b", "c": 1.0}], {"device_kind": "abacus"})
    content = read_record(path)
    assert content["rows"] == [{"a": "b", "c": 1.0}]
    assert content["machine"]["device_kind"] == "abacus"
    assert "nothing\na  c\n" in capsys.readouterr().out


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
