"""A model is one file and one line in `MODELS`: tried by the commands themselves."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.tiny_run import write_text

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The one line, then a command as train.py and evaluate.py begin it.
_PROGRAM = """
import runpy, sys
from tests.documents import module_of
from transformer_jax.models import MODELS, ModelKind
bag = module_of("docs/adding_a_model.md", "transformer_jax/models/bag_of_words.py")
MODELS["bag_of_words"] = ModelKind(bag.BagOfWords, bag.BagOfWordsConfig)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

_CONFIG = """
from transformer_jax.config import default

def get_config():
    config = default.get_config(model="bag_of_words")
    config.data.update(
        train_source="train.en", train_target="train.de",
        validation_source="validation.en", validation_target="validation.de",
        test_source="test.en", test_target="test.de",
        vocab_size=330, tokens_per_batch=256, max_batch_shapes=1, max_length=64,
    )
    config.optimizer.update(schedule="paper", warmup_steps=30, factor=0.2)
    config.training.log_every_steps = 1
    config.evaluation.update(eval_every_steps=0, beam_size=1)
    config.checkpoints.update(save_every_steps=0, save_every_minutes=0.0)
    config.decoding.update(beam_size=2, max_extra_length=3, tokens_per_batch=512)
    return config
"""


def _run(*arguments: object, stdin: str = "") -> str:
    result = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *map(str, arguments)],
        capture_output=True,
        cwd=ROOT,
        env=os.environ | {"XLA_FLAGS": ""},
        input=stdin,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_a_second_model_trains_resumes_translates_and_scores(tmp_path):
    text = write_text(tmp_path / "text")
    (tmp_path / "config.py").write_text(_CONFIG)

    def train(workdir: str, num_steps: int, *more: str) -> pathlib.Path:
        _run(
            "train.py",
            f"--config={tmp_path / 'config.py'}",
            f"--config.data.directory={text}",
            f"--config.training.num_steps={num_steps}",
            f"--workdir={tmp_path / workdir}",
            "--config.model.width=24",
            *more,
        )
        return tmp_path / workdir

    unbroken, broken = train("unbroken", 30), train("broken", 10)
    train("broken", 30)
    rows = [
        [json.loads(line) for line in (workdir / "metrics.jsonl").open()]
        for workdir in (unbroken, broken)
    ]
    losses = [[row["train/loss"] for row in some] for some in rows]
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0] - 1

    scores = json.loads(_run("evaluate.py", "--workdir", broken, "--format=json"))
    assert scores["num_sentences"] == 7
    (kept,) = (broken / "evaluation").glob("test.*.json")
    assert json.loads(kept.read_text())["produced_by"]["beam_size"] == 2
    _run("evaluate.py", "--workdir", broken, "--average=2", "--beam_size=3")
    translate = "transformer_jax/translate.py", "--num-best=2", "--workdir", broken
    lines = _run(*translate, stdin="A dog.\n")
    assert [line.split(" ||| ")[0] for line in lines.splitlines()] == ["1", "1"]
    card = _run("transformer_jax/reports/__main__.py", "card", "--workdirs", broken)
    assert "Wrote" in card
    assert "| model.width | 24 |" in (broken / "README.md").read_text()
