"""A run that an older program wrote goes on, translates and scores.

version_1.tar.xz holds one of configs of version 1, after 150 updates, with its
checkpoints, tokens and text. It was begun by this config, when its fields had the names
of that version; what the older program then found is written below.
"""

import dataclasses
import functools
import json
import pathlib
import tarfile

import jax
import ml_collections
import numpy as np
import pytest

from tests.tiny_run import grammar_config
from transformer_jax.config import default, sections, tree
from transformer_jax.config.versions import CONFIG_VERSION, RENAMED, read_fields
from transformer_jax.errors import UserError
from transformer_jax.fields import fixed, free
from transformer_jax.runs import experiment
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.run_evaluation import evaluate_run
from transformer_jax.runs.trained_run import load_run

# After updates 151 and 152, and their validation.
TRAIN_LOSS, VALIDATION_LOSS = 3.314108603092967, 3.4866593710741207
# Of the run as it lies in the archive, on its test split, by its beam of two.
CHRF = 10.5814


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    with tarfile.open(pathlib.Path(__file__).parent / "version_1.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "version_1"


def _config(num_steps: int) -> ml_collections.ConfigDict:
    config = grammar_config()
    config.seed = 3
    config.data.vocab_size = 330
    config.optimizer.update(
        schedule="cosine",
        warmup_steps=2,
        num_steps=500,
        final_fraction=0.1,
        peak_learning_rate=0.02,
        clip_norm=1.0,
    )
    config.training.update(num_steps=num_steps, log_every_steps=50, max_skips=7)
    config.evaluation.update(eval_every_steps=0, beam_size=1)
    config.checkpoints.update(save_every_steps=0, save_every_minutes=0.0, keep_params=1)
    config.sharding.data = 1
    config.decoding.update(beam_size=2, max_extra_length=3, tokens_per_batch=512)
    return config


def test_a_run_of_version_1_goes_on(run, caplog):
    caplog.set_level("INFO", logger="transformer_jax")
    experiment.train(_config(num_steps=152), run)
    # Nothing else differs, and its tokens are used as they are.
    changed = [line for line in caplog.messages if line.startswith("Going on with")]
    assert changed == ["Going on with config.training.num_steps: 150 before, 152 now"]
    assert "Tokenising" not in caplog.text
    row = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert row["step"] == 152
    # The program that wrote it found this; another processor rounds differently.
    np.testing.assert_allclose(row["train/loss"], TRAIN_LOSS, rtol=1e-4)
    np.testing.assert_allclose(row["validation/loss"], VALIDATION_LOSS, rtol=1e-4)
    assert json.loads((run / "config.json").read_text())["version"] == CONFIG_VERSION


def test_a_run_of_version_1_translates_and_scores(run):
    trained = load_run(run)
    assert trained.steps == (150,)
    assert trained.config.optimizer.final_fraction == 0.1
    evaluation = evaluate_run(trained, {})
    # One letter of a translation, rounded another way, is worth less than this.
    assert evaluation.scores.chrf == pytest.approx(CHRF, abs=1.5)
    assert len(evaluation.hypotheses) == 7


@dataclasses.dataclass(frozen=True)
class _LaterOptimizer(sections.OptimizerSection):
    weight_decay: float = fixed(0.1, "once there was none", least=0, before=0.0)


@dataclasses.dataclass(frozen=True)
class _LaterDecoding(sections.DecodingSection):
    num_groups: int = free(1, "of a beam whose groups differ", least=1)


def test_a_field_that_came_later_keeps_what_the_run_did(run, monkeypatch):
    monkeypatch.setattr(sections, "OptimizerSection", _LaterOptimizer)
    assert load_run(run).config.optimizer.weight_decay == 0.0
    config = _config(num_steps=151)
    assert config.optimizer.weight_decay == 0.1
    with pytest.raises(UserError, match="weight_decay: 0.0 before, 0.1 now"):
        experiment.train(config, run)
    config.optimizer.weight_decay = 0.0
    assert experiment.train(config, run) == "finished"


def test_a_field_of_decoding_that_came_later_stops_nobody(run, monkeypatch):
    monkeypatch.setattr(sections, "DecodingSection", _LaterDecoding)
    trained = load_run(run)
    assert trained.config.decoding.num_groups == 1
    assert len(trained.translator().translate(["One.", "Two."])) == 2


def test_fields_that_nobody_knows_are_named_with_the_nearest_one(run):
    fields = json.loads((run / "config.json").read_text())
    fields["optimizer"]["beta3"] = 0.5
    (run / "config.json").write_text(json.dumps(fields))
    with pytest.raises(UserError, match=r"optimizer.beta3.*it has optimizer.beta"):
        RunDirectory(run).read_config()


@pytest.mark.parametrize("version", [0, CONFIG_VERSION + 1, "1", None])
def test_configs_of_versions_to_come_are_refused(version):
    with pytest.raises(UserError, match="reads versions 1 to 2"):
        read_fields({"version": version})


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("model.d_model", None, "model.d_model=None: expected a whole number"),
        ("model.d_model", "12", "model.d_model='12': expected a whole number"),
        ("decoding.alpha", None, "decoding.alpha=None: expected a finite number"),
        ("model.use_logits_bias", 0, "model.use_logits_bias=0: expected True or False"),
        ("optimizer.factor", 1.0, "both optimizer.learning_rate_factor and optimizer"),
        ("model.d_model", {"x": 1}, "the field model.d_model.x"),
        ("data.tfds", "", "the field data.tfds"),
        ("model", 3, "model 'None' is none of"),
    ],
)
def test_values_that_no_program_wrote_are_refused_by_name(run, path, value, message):
    fields = json.loads((run / "config.json").read_text())
    *parents, name = path.split(".")
    functools.reduce(dict.__getitem__, parents, fields)[name] = value
    (run / "config.json").write_text(json.dumps(fields))
    with pytest.raises(UserError, match=f"config.json cannot be used: .*{message}"):
        load_run(run)


def test_null_for_no_text_is_read_as_it_was_meant(run):
    fields = json.loads((run / "config.json").read_text())
    fields["data"].update(cache_directory=None, test_source=None)
    config = read_fields(fields)
    assert (config.data.cache_directory, config.data.test_source) == ("", "")


def test_a_run_with_another_programs_model_is_refused(run):
    fields = json.loads((run / "config.json").read_text())
    fields["model"]["name"] = "mamba"
    with pytest.raises(UserError, match="model 'mamba' is none of transformer"):
        read_fields(fields)


def test_every_new_name_is_that_of_a_field():
    fields = tree.fields_of("transformer", "translation")
    assert set(RENAMED.values()) <= fields.keys()
    assert not set(RENAMED) & fields.keys()


def test_a_config_read_back_is_the_config_that_was_written():
    config = default.get_config()
    config.model.d_k = 7
    config.data.tokenizer_path = "a.model"
    read = read_fields(json.loads(config.to_json()))
    assert dict(tree.leaves(read)) == dict(tree.leaves(config))
    assert jax.tree.structure(read.to_dict()) == jax.tree.structure(config.to_dict())
