"""A task is one file and one line in `TASKS`: tried with a second one."""

import json
import pathlib

import ml_collections
import numpy as np
import pytest

from tests.documents import module_of
from tests.tiny_run import tiny_config
from transformer_jax.config import default
from transformer_jax.errors import UserError
from transformer_jax.reports.card import write_card
from transformer_jax.runs import experiment
from transformer_jax.runs.trained_run import load_run
from transformer_jax.tasks import TASKS, TaskKind

GERMAN = [
    "Der Hund schläft.",
    "Der Hund isst.",
    "Der Fuchs schläft.",
    "Ein Fuchs isst.",
]


@pytest.fixture(autouse=True)
def with_the_line(monkeypatch):
    page, title = "docs/adding_a_task.md", "transformer_jax/tasks/language_model.py"
    module = module_of(page, title)
    kind = TaskKind(module.LanguageModelSettings, module.language_model)
    monkeypatch.setitem(TASKS, "language_model", kind)


@pytest.fixture
def text(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "train.de").write_text("\n".join(GERMAN * 30 + [""]))
    (tmp_path / "validation.de").write_text("\n".join(GERMAN))
    return tmp_path


def _config(text: pathlib.Path, num_steps: int) -> ml_collections.ConfigDict:
    config = default.get_config(task="language_model")
    like = tiny_config(text, num_steps)
    for name, section in like.items():
        if name not in ("version", "task"):
            config[name] = section
    config.data.update(
        train_source="train.de",
        train_target="",
        validation_source="validation.de",
        validation_target="",
        test_source="",
        test_target="",
        source_language="de",
        vocab_size=300,
    )
    config.optimizer.update(
        schedule="constant", warmup_steps=1, peak_learning_rate=0.02, factor=1.0
    )
    config.evaluation.eval_every_steps = 20
    config.checkpoints.save_every_steps = 20
    return config


def _rows(workdir: pathlib.Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (workdir / "metrics.jsonl").open()]


def test_a_language_model_learns_and_resumes_through_the_same_loop(text, tmp_path):
    experiment.train(_config(text, num_steps=60), tmp_path / "unbroken")
    experiment.train(_config(text, num_steps=20), tmp_path / "broken")
    experiment.train(_config(text, num_steps=60), tmp_path / "broken")
    unbroken, broken = _rows(tmp_path / "unbroken"), _rows(tmp_path / "broken")
    for ours, theirs in zip(broken, unbroken, strict=True):
        assert ours["train/loss"] == theirs["train/loss"]
    validated = {
        row["step"]: row["validation/perplexity"]
        for row in unbroken
        if "validation/perplexity" in row
    }
    assert validated.keys() == {20, 40, 60}
    # One of four sentences: a perfect model is hardly in doubt over their letters.
    assert unbroken[0]["train/perplexity"] > 100
    assert 1 < validated[60] < 2
    first, last = unbroken[0], unbroken[-1]
    assert first["train/tokens"] > 100
    assert {"train/tokens_per_second", "train/perplexity"} <= last.keys()
    assert not [name for name in last if "bleu" in name or "target" in name]
    assert last["validation/log_likelihood"] == pytest.approx(
        -np.log(validated[60]), rel=1e-6
    )


def test_its_best_checkpoint_is_the_likeliest_and_it_does_not_translate(text, tmp_path):
    experiment.train(_config(text, num_steps=40), tmp_path / "run")
    run = load_run(tmp_path / "run")
    rows = [row for row in _rows(tmp_path / "run") if "validation/perplexity" in row]
    best = min(rows, key=lambda row: row["validation/perplexity"])
    assert run.steps == (best["step"],)
    with pytest.raises(
        UserError, match="'language_model', whose runs do not translate"
    ):
        run.translator()
    kept = sorted(path.name for path in (tmp_path / "run/text").iterdir())
    assert kept == ["validation.text.txt"]
    card = pathlib.Path(write_card(tmp_path / "run")).read_text()
    assert "task.name | language_model" in card
    # Nobody knows what it costs, and nothing tells to translate with it.
    assert "| training FLOPs (matrix products) | – |" in card
    assert "translate" not in card


def test_its_own_field_is_checked_and_may_not_change(text, tmp_path):
    config = _config(text, num_steps=1)
    config.task.token_weight = 0.0
    with pytest.raises(UserError, match=r"config.task.token_weight=0.0.*above 0"):
        experiment.train(config, tmp_path / "run")
    config.task.token_weight = 2.0
    experiment.train(config, tmp_path / "run")
    with pytest.raises(UserError, match="token_weight: 2.0 before, 1.0 now"):
        experiment.train(_config(text, num_steps=2), tmp_path / "run")


def test_a_grammar_gives_one_of_its_languages(tmp_path):
    config = _config(tmp_path, num_steps=1)
    config.data.update(source="grammar", vocab_size=330)
    config.data.grammar.update(
        num_train_pairs=60, num_validation_pairs=8, num_test_pairs=5
    )
    experiment.train(config, tmp_path / "run")
    kept = (tmp_path / "run/text/validation.text.txt").read_text()
    assert len(kept.splitlines()) == 8
    assert any(letter in kept for letter in "äöüß")


def test_a_language_that_the_grammar_does_not_speak_is_refused_before_a_run_is_begun(
    tmp_path,
):
    config = _config(tmp_path, num_steps=1)
    config.data.update(source="grammar", source_language="fr")
    with pytest.raises(UserError, match="config.data: source_language='fr', but the"):
        experiment.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_fields_of_another_task_are_refused(text, tmp_path):
    config = tiny_config(text)
    config.task.name = "language_model"
    message = r"config.task.token_weight.*get_config\(model='transformer', task='lang"
    with pytest.raises(UserError, match=message):
        experiment.train(config, tmp_path / "run")
