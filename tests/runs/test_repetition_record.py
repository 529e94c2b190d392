"""What is scored and trained on is said before training and beside every score."""

import json
import logging
import shutil

import pytest

from tests.tiny_run import tiny_config, write_text
from transformer_jax.reports import card, reproduce, table2
from transformer_jax.runs import experiment
from transformer_jax.runs.corpus import prepare_corpus
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.repetition_record import describe, read_repetitions
from transformer_jax.runs.run_evaluation import evaluate_run
from transformer_jax.runs.trained_run import load_run

NOTE = "3 of 7 test pairs are also in the training text"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose training text has three of its test pairs, and is gone since."""
    folder = tmp_path_factory.mktemp("leaking")
    text = write_text(folder / "text")
    for side in ("en", "de"):
        lines = (text / f"test.{side}").read_text().splitlines(keepends=True)
        with (text / f"train.{side}").open("a") as file:
            file.writelines(lines[2:5])
    config = tiny_config(text, num_steps=1)
    config.checkpoints.save_every_steps = 1
    experiment.train(config, folder / "run")
    (folder / "run/text_given").mkdir()
    for side in ("en", "de"):
        shutil.copy(text / f"test.{side}", folder / f"run/text_given/t.{side}")
    shutil.rmtree(text)
    return folder / "run"


def test_every_score_and_report_repeats_the_count(run):
    evaluation = evaluate_run(load_run(run), {})
    assert NOTE in evaluation.scores.table()
    assert any(NOTE in note for note in evaluation.report["notes"])
    RunDirectory(run).write_evaluation(
        evaluation.name, evaluation.report, evaluation.hypotheses
    )
    report = reproduce.make_report([run])
    (row,) = (row for row in report.rows if "test pairs that are" in row["row"])
    assert (row["paper_value"], row["measured_value"], row["is_met"]) == (0, 3, False)
    assert any(NOTE in note for note in report.notes)
    assert any(NOTE in note for note in table2.make_report([run]).notes)
    assert NOTE in open(card.write_card(run)).read()


def test_given_files_are_compared_with_the_tokens_while_they_are_kept(run, tmp_path):
    files = tuple(str(run / f"text_given/t.{side}") for side in ("en", "de"))
    note = "3 of 7 scored pairs are also"
    assert note in evaluate_run(load_run(run), {}, files=files).scores.table()
    copy = shutil.copytree(run, tmp_path / "run", ignore=lambda *_: ["tokens"])
    assert note not in evaluate_run(load_run(copy), {}, files=files).scores.table()


def test_one_file_for_both_sides_is_warned_of_before_training(tmp_path, caplog):
    text = write_text(tmp_path / "text")
    config = tiny_config(text)
    both = shutil.copy(text / config.data.train_source, text / "both")
    config.data.train_source = config.data.train_target = str(both)
    directory = RunDirectory(tmp_path / "run")
    with caplog.at_level(logging.WARNING):
        prepare_corpus(config, directory)
    assert "57 of 57 train pairs have the same text on both sides" in caplog.text


def test_the_record_is_made_again_where_it_does_not_fit(tmp_path):
    config = tiny_config(write_text(tmp_path / "text"))
    directory = RunDirectory(tmp_path / "run")
    prepare_corpus(config, directory)
    path = directory.root / "repetitions.json"
    counted = read_repetitions(directory)
    assert set(counted) == {"train", "validation", "test"}
    assert describe(counted) == ()
    other = json.dumps({"fingerprints": {}, "splits": {}})
    flipped = path.read_text().replace('"in_training": 0', '"in_training": 1', 1)
    for damage in ("", "[]", "{}", other, flipped):
        path.write_text(damage)
        assert read_repetitions(directory) == {}
        prepare_corpus(config, directory)
        assert read_repetitions(directory) == counted
