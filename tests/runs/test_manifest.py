"""What a run's results depend on is as it was written, or is accepted on purpose."""

import json
import pathlib
import shutil

import pytest

from tests.tiny_run import tiny_config
from transformer_jax.errors import UserError
from transformer_jax.runs import experiment
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.manifest import Manifest
from transformer_jax.runs.run_check import accept_run, check_run
from transformer_jax.runs.trained_run import load_run


@pytest.fixture(scope="module")
def trained(
    text: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> pathlib.Path:
    workdir = tmp_path_factory.mktemp("runs") / "run"
    experiment.train(tiny_config(text, num_steps=2), workdir)
    return workdir


@pytest.fixture
def run(trained: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    return shutil.copytree(trained, tmp_path / "run")


def _edit(path: pathlib.Path, old: str, new: str) -> None:
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new, 1), encoding="utf-8")


def _damaged(run: pathlib.Path) -> list[str]:
    return [finding.path for finding in check_run(run) if finding.damage]


def test_another_activation_by_hand_is_refused_until_it_is_accepted(run):
    _edit(run / "config.json", '"relu"', '"gelu"')
    with pytest.raises(UserError, match=r"config.json is not as .* check --accept"):
        load_run(run)
    assert _damaged(run) == ["config.json"]
    accept_run(run)
    assert load_run(run).config.model.activation == "gelu"
    assert _damaged(run) == []


def test_a_changed_reference_is_no_reference(run):
    path = run / "text/test.target.txt"
    path.write_bytes(path.read_bytes()[:-2] + b"x\n")
    directory = RunDirectory(run)
    directory.read_split("validation")
    with pytest.raises(UserError, match=r"test.target.txt is not as"):
        directory.read_split("test")


def test_training_writes_damaged_copies_of_its_text_anew(run, text, caplog):
    path = run / "text/test.target.txt"
    before = path.read_bytes()
    path.write_bytes(b"")
    (run / "text/validation.source.txt").unlink()
    experiment.train(tiny_config(text, num_steps=3), run)
    assert path.read_bytes() == before
    assert "test.target.txt is missing or damaged; it is written anew" in caplog.text
    assert "validation.source.txt is missing or damaged" in caplog.text
    assert _damaged(run) == []


@pytest.mark.parametrize("is_missing", [True, False])
def test_other_text_is_refused_without_data_json_too(run, text, tmp_path, is_missing):
    path = run / "data.json"
    path.unlink() if is_missing else path.write_text("{")
    other = shutil.copytree(text, tmp_path / "text")
    for name in ("train.en", "train.de"):
        with (other / name).open("a") as file:
            file.write("More.\n")
    with pytest.raises(UserError, match="another train"):
        experiment.train(tiny_config(other, num_steps=3), run)
    experiment.train(tiny_config(text, num_steps=3), run)
    assert json.loads(path.read_text()).keys() == {
        "train",
        "validation",
        "test",
        "tokenizer",
    }


@pytest.mark.parametrize("content", [None, "", "{}", '{"files": {}}'])
def test_a_run_without_a_manifest_goes_on_and_gets_one(run, text, caplog, content):
    path = run / "manifest.json"
    path.unlink() if content is None else path.write_text(content)
    load_run(run)
    assert f"{path} is {'missing' if content is None else 'damaged'}" in caplog.text
    experiment.train(tiny_config(text, num_steps=3), run)
    assert Manifest(run).is_whole
    assert Manifest(run).fingerprints == json.loads((run / "data.json").read_text())
    assert _damaged(run) == []


@pytest.mark.parametrize("is_missing", [True, False])
def test_without_manifest_and_fingerprints_a_run_goes_on_only_on_purpose(
    run, text, is_missing
):
    (run / "manifest.json").unlink()
    path = run / "data.json"
    path.unlink() if is_missing else path.write_text("{}")
    with pytest.raises(UserError, match=r"data.json and manifest.json .* are missing"):
        experiment.train(tiny_config(text, num_steps=3), run)
    accept_run(run)
    experiment.train(tiny_config(text, num_steps=3), run)
    assert Manifest(run).fingerprints


def test_a_config_fits_at_any_moment_of_being_written(tmp_path):
    """Whether a kill comes before its new content or after."""
    manifest, path = Manifest(tmp_path), tmp_path / "config.json"
    manifest.begin()
    manifest.write(path, b"1")
    manifest.write(path, b"2")
    assert manifest.damage(path) is None
    path.write_bytes(b"1")
    assert manifest.damage(path) is None
    manifest.write(path, b"3")
    path.write_bytes(b"2")
    assert manifest.damage(path) == "is not as this program wrote it"


def test_a_check_names_damaged_and_unfinished_checkpoints(run):
    (run / "checkpoints/2/checksums.json").unlink()
    path = next(path for path in (run / "parameters/2/d").iterdir() if path.is_file())
    path.write_bytes(b"")
    assert _damaged(run) == ["checkpoints/2", "parameters/2", "checkpoints"]


@pytest.mark.parametrize("name", ["checkpoints", "parameters"])
def test_a_check_names_what_holds_no_step(run, name):
    shutil.rmtree(run / name)
    assert _damaged(run) == [name]


def test_a_run_is_checked_by_a_relative_path_as_by_an_absolute_one(run, monkeypatch):
    expected = check_run(run)
    assert "checkpoints/2" in [finding.path for finding in expected]
    monkeypatch.chdir(run.parent)
    assert check_run(run.name) == expected


def test_what_is_no_run_is_neither_checked_nor_accepted(tmp_path):
    for function in (check_run, accept_run):
        with pytest.raises(UserError, match="is not a run"):
            function(tmp_path)
    assert not list(tmp_path.iterdir())
