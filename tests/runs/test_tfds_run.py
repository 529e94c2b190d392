"""From archives to updates: WMT14 as TFDS prepares it, then a run that trains on it."""

import logging
import os
import pathlib
import subprocess
import sys

from tests.data.sources.wmt14_archives import NUM_TEST, prepare_wmt14
from tests.tiny_run import tiny_config
from transformer_jax.data.sources.grammar import GrammarPairs
from transformer_jax.data.token_cache import TokenCache
from transformer_jax.runs import experiment
from transformer_jax.runs.directory import RunDirectory

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_a_run_trains_on_what_tfds_prepared_without_tensorflow(
    tmp_path, monkeypatch, caplog
):
    caplog.set_level(logging.INFO, "transformer_jax")
    english, german = zip(*GrammarPairs("train", 60, seed=5).all_texts(), strict=True)
    changes = {"europarl": ([*german, "  "], [*english, "Nothing to say."])}
    data_set = prepare_wmt14(tmp_path, "de", changes)
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "data"))
    config = tiny_config(tmp_path, num_steps=2)
    config.data.update(source="tfds", max_length=150)
    config.data.tfds.name = "wmt14_translate/de-en"
    experiment.train(config, tmp_path / "run")

    assert "tensorflow" not in sys.modules
    assert caplog.text.count("Translating from en into de") == 1
    directory = RunDirectory(tmp_path / "run")
    sources, references = directory.read_split("test")
    assert sorted(sources) == [f"en newstest2014 {n}" for n in range(NUM_TEST)]
    assert [line.replace("de ", "en ") for line in references] == sources
    (tokens,) = directory.tokens.glob("train-*")
    manifest = TokenCache(tokens).manifest
    assert manifest["num_pairs"] == data_set.splits["train"] - 1
    assert manifest["drops"] == {"empty": 1}


def test_the_command_finds_a_prepared_set_and_counts_its_examples(tmp_path):
    data_set = prepare_wmt14(tmp_path, "de")
    command = [sys.executable, "-m", "transformer_jax", "prepare"]
    chosen = ["--config=configs/own_text.py", "--config.data.source=tfds"]
    name = "--config.data.tfds.name=wmt14_translate/de-en"
    environment = os.environ | {"TFDS_DATA_DIR": str(tmp_path / "data")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    result = run(*chosen, name)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        f"{data_set.name} {split}: {number} examples"
        for split, number in data_set.splits.items()
    ]
    result = run(*chosen, name, "--config.data.target_language=fr")
    assert (result.returncode, result.stdout) == (1, "")
    assert "has the languages de, en" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_command_is_for_tfds_alone(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "transformer_jax", "prepare", "--config"]
        + ["configs/own_text.py"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert result.returncode == 1
    assert "'files' needs no preparation" in result.stderr
