"""Pages that are worked through from top to bottom run so, in a copy of the project.

A block with a title is a file, or, as a diff, a change of one. The others are commands
for bash, or Python: blocks of Python that follow one another share a process, as the
cells of a notebook do.
"""

import importlib.util
import itertools
import json
import pathlib
import shutil

import pytest

from tests.documents import ROOT, SESSIONS, Block, blocks_of, put_python, run_bash

# What makes a long run short.
_SHORTENED = {
    "docs/forking.md": {"configs/grammar_tiny.py": "configs/short.py"},
    "docs/notebook.md": {
        "num_train_pairs=20_000": "num_train_pairs=60",
        "vocab_size=2000": "vocab_size=400",
        "tokens_per_batch=2048": "tokens_per_batch=256",
        "max_batch_shapes = 3": "max_batch_shapes = 1",
        "coder_layers=2": "coder_layers=1",
        "d_model=128": "d_model=16",
        "d_ff=256": "d_ff=24",
        "warmup_steps=100": "warmup_steps=2",
        "num_steps=400": "num_steps=20",
        "every_steps=50": "every_steps=1",
        "every_steps=200": "every_steps=10",
        "every_steps = 200": "every_steps = 10",
        "num_test_pairs=200": "num_test_pairs=5",
    },
}

_SHORT = '''"""A run of seconds."""

import ml_collections

from tests.tiny_run import grammar_config


def get_config() -> ml_collections.ConfigDict:
    """A tiny model on a few sentences, whose loss is told at each step."""
    config = grammar_config()
    config.model.update(d_model=16, d_ff=24, num_heads=2)
    config.training.update(num_steps=20, log_every_steps=1)
    config.evaluation.eval_every_steps = 0
    return config
'''


def changed(text: str, diff: str) -> str:
    """Apply the one hunk of a diff, whose lines stand in the text once."""
    lines = diff.splitlines()
    assert all(line[:1] in ("", " ", "-", "+") for line in lines), diff
    before = "\n".join(line[1:] for line in lines if line[:1] != "+")
    after = "\n".join(line[1:] for line in lines if line[:1] != "-")
    assert f"\n{text}".count(f"\n{before}\n") == 1, f"not there, or twice:\n{diff}"
    return f"\n{text}".replace(f"\n{before}\n", f"\n{after}\n")[1:]


def test_a_diff_changes_what_it_shows_and_nothing_else():
    text = "one\ntwo\nthree\ntwo\n"
    assert changed(text, " one\n-two\n+2\n+more\n three\n") == (
        "one\n2\nmore\nthree\ntwo\n"
    )
    for stale in (" one\n three\n+more\n", " two\n+more\n"):
        with pytest.raises(AssertionError, match="not there, or twice"):
            changed(text, stale)


@pytest.fixture
def project(tmp_path: pathlib.Path) -> pathlib.Path:
    """A copy of the project, and an interpreter of its own."""
    root = tmp_path / "project"
    for name in ("transformer_jax", "configs", "tests", "docs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.cfg"):
        shutil.copy(ROOT / name, root)
    (root / "configs/short.py").write_text(_SHORT)
    put_python(tmp_path / "bin/python")
    return root


def _write(block: Block, project: pathlib.Path) -> None:
    path = project / block.title
    if block.language == "diff":
        path.write_text(changed(path.read_text(), block.text))
    else:
        assert not path.exists()
        path.write_text(block.text)


def _run(script: str, project: pathlib.Path) -> None:
    result = run_bash(script, project, project.parent / "bin", project)
    assert result.returncode == 0, (result.stdout + result.stderr).decode()


@pytest.mark.parametrize("document", SESSIONS)
def test_files_and_changes_of_a_page_fit_the_project_as_it_is(document, project):
    blocks = [block for block in blocks_of(document) if block.title]
    for block in blocks:
        _write(block, project)
    names = " ".join({block.title for block in blocks})
    if names and importlib.util.find_spec("ruff") is not None:
        _run(f"python -m ruff check {names}", project)
        _run(f"python -m ruff format --diff {names}", project)


@pytest.mark.slow
@pytest.mark.parametrize("document", SESSIONS)
def test_a_page_works_from_top_to_bottom(document, project):
    shortened = _SHORTENED.get(document, {})
    page = "".join(block.text for block in blocks_of(document))
    assert not [words for words in shortened if words not in page]

    def text_of(block: Block) -> str:
        text = block.text
        for words, instead in shortened.items():
            text = text.replace(words, instead)
        return text

    parts = itertools.groupby(
        blocks_of(document), lambda block: (bool(block.title), block.language)
    )
    for (is_file, language), blocks in parts:
        if is_file:
            for block in blocks:
                _write(block, project)
        elif language == "python":
            program = "".join(map(text_of, blocks))
            _run(f"python - << 'EOF'\n{program}EOF", project)
        else:
            assert language == "sh", "commands are fenced as sh"
            _run("".join(map(text_of, blocks)), project)
    for metrics in project.glob("runs/*/metrics.jsonl"):
        rows = map(json.loads, metrics.read_text().splitlines())
        losses = [row["train/loss"] for row in rows if "train/loss" in row]
        assert losses[-1] < losses[0] - 0.1, metrics
