"""COMET: what is passed to its package, and what is said where something is missing."""

import json
import os
import sys
import types

import pytest

from transformer_jax.errors import UserError
from transformer_jax.evaluation import scores
from transformer_jax.evaluation.comet import load_comet


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """Leave the environment as it was."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "")


@pytest.fixture
def folder(tmp_path):
    """A model's folder; its files are never read."""
    folder = tmp_path / "wmt-a-da"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints/model.ckpt").touch()
    (folder / "hparams.yaml").touch()
    return folder


@pytest.fixture
def calls(monkeypatch):
    """A stand-in for the package that remembers what it was asked."""
    calls = {}

    def predict(samples, **options):
        calls["predict"] = samples, options
        scores = [len(sample["mt"]) / 10 for sample in samples]
        return types.SimpleNamespace(
            scores=scores, system_score=sum(scores) / len(scores)
        )

    def load_from_checkpoint(path, **options):
        calls["load"] = path, options
        calls["offline"] = os.environ["HF_HUB_OFFLINE"]
        return types.SimpleNamespace(predict=predict)

    module = types.ModuleType("comet")
    module.load_from_checkpoint = load_from_checkpoint
    module.__version__ = "2.2.7"
    monkeypatch.setitem(sys.modules, "comet", module)
    return calls


def test_a_model_is_read_from_disk_alone(folder, calls):
    metric = load_comet(folder)
    weights = str(folder / "checkpoints/model.ckpt")
    assert calls["load"] == (weights, {"local_files_only": True})
    assert calls["offline"] == "1"
    assert load_comet(weights).name == metric.name == "wmt-a-da"


def test_a_model_in_a_cache_has_its_published_name(tmp_path, calls):
    snapshot = tmp_path / "models--Someone--wmt-b/snapshots/0123abc"
    (snapshot / "checkpoints").mkdir(parents=True)
    (snapshot / "checkpoints/model.ckpt").touch()
    (snapshot / "hparams.yaml").touch()
    assert load_comet(snapshot).name == "wmt-b"


def test_each_translation_goes_with_its_source_and_its_reference(folder, calls):
    score = load_comet(folder).score(["abc", "d"], ["r", "s"], ["x", "y"])
    assert score.value == pytest.approx(0.2)
    assert score.signature == "model:wmt-a-da|version:2.2.7"
    samples, options = calls["predict"]
    assert samples == [
        {"src": "x", "mt": "abc", "ref": "r"},
        {"src": "y", "mt": "d", "ref": "s"},
    ]
    assert options["num_workers"] == 0 and not options["progress_bar"]


def test_comet_is_a_row_of_the_table_and_a_field_of_the_json(folder, calls):
    lines, references, sources = ["Ja", "Nein"], ["Ja.", "Nein."], ["Yes.", "No."]
    found = scores.score(
        lines, references, "de", sources=sources, comet=load_comet(folder)
    )
    row = next(r for r in found.table().splitlines() if r.startswith("COMET"))
    assert row.split("  ")[0] == "COMET x 100, wmt-a-da"
    assert "30.00" in row
    fields = json.loads(json.dumps(found.as_dict()))
    assert fields["comet"] == 0.3
    assert fields["comet_signature"] == "model:wmt-a-da|version:2.2.7"


def test_without_comet_there_is_no_row():
    found = scores.score(["Ja"], ["Ja."], "de")
    assert "COMET" not in found.table()
    assert found.as_dict()["comet"] is None


def test_comet_without_sources_is_refused(folder, calls):
    with pytest.raises(ValueError, match="sources"):
        scores.score(["Ja"], ["Ja."], "de", comet=load_comet(folder))


def test_a_missing_package_names_its_extra(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(UserError, match=r"transformer-jax\[comet\]"):
        load_comet(folder)


@pytest.mark.parametrize("removed", ["checkpoints/model.ckpt", "hparams.yaml"])
def test_a_missing_file_is_named_with_what_was_expected(folder, calls, removed):
    (folder / removed).unlink()
    with pytest.raises(UserError, match=removed) as error:
        load_comet(folder)
    assert "hparams.yaml and checkpoints/model.ckpt" in str(error.value)


def test_a_model_elsewhere_is_not_looked_for(calls):
    with pytest.raises(UserError, match="no COMET model at Unbabel/wmt22-comet-da"):
        load_comet("Unbabel/wmt22-comet-da")


@pytest.mark.parametrize("kind", [OSError, AttributeError])
def test_a_missing_encoder_is_explained(folder, calls, kind):
    def refuse(path, **options):
        raise kind("no connection")

    sys.modules["comet"].load_from_checkpoint = refuse
    with pytest.raises(UserError, match="no connection.*pretrained_model"):
        load_comet(folder)
