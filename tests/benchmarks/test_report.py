import json
import pathlib

from benchmarks.records import RESULTS
from benchmarks.report import TARGETS, make_page

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def test_the_page_is_as_make_docs_writes_it():
    written = (DOCS / "performance.md").read_text(encoding="utf-8")
    assert written == make_page(RESULTS) + "\n"


def test_every_target_is_there_and_what_no_device_measured_says_so(tmp_path):
    page = make_page(tmp_path)
    for target in TARGETS:
        missing = "no device" if target.needs_device else "not measured"
        start = f"| {target.work} | {target.peer} | {target.before} | {target.target}"
        assert f"{start} | {missing} | `{target.command}` |\n" in page


def test_a_measured_target_shows_its_figure_and_its_command(tmp_path):
    source = next(RESULTS.glob("*.json"))
    content = json.loads(source.read_text())
    content["note"] = ""
    content["command"] = "python -m benchmarks.train --turns 9"
    peer = {"contestant": "PyTorch eager", "times_ours": 1.234}
    content["rows"] = [peer | {"times_low": 1.0, "times_high": 2.0}]
    (tmp_path / "train_tiny_cpu.json").write_text(json.dumps(content))
    page = make_page(tmp_path)
    assert "| 1.23 (1.00 to 2.00) | `python -m benchmarks.train --turns 9` |" in page
    content["note"] = "Preliminary."
    (tmp_path / "train_tiny_cpu.json").write_text(json.dumps(content))
    assert "| 1.23 (1.00 to 2.00); see its note | " in make_page(tmp_path)
    content["rows"] = [{"contestant": "PyTorch eager", "problem": "not installed"}]
    (tmp_path / "train_tiny_cpu.json").write_text(json.dumps(content))
    start = "| 1.6 without the user setting anything | not measured | "
    assert f"{start}`python -m benchmarks.train` |" in make_page(tmp_path)
