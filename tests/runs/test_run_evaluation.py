"""What an evaluation is called, and what belongs together in one."""

import dataclasses
import json
import os
import types

import pytest

from tests.tiny_run import tiny_config, write_text
from transformer_jax.config import default
from transformer_jax.decoding.translator_settings import TranslatorSettings
from transformer_jax.errors import UserError
from transformer_jax.runs import experiment, run_evaluation
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.trained_run import load_run

SETTINGS = TranslatorSettings(
    beam_size=4,
    alpha=0.6,
    length_penalty="gnmt",
    max_extra_length=50,
    max_source_length=256,
    tokens_per_batch=4_096,
)


@pytest.mark.parametrize(
    ("steps", "weights"),
    [
        ((30,), "step-30"),
        ((20, 30), "average2-20-30"),
        ((10, 20, 30), "average3-10-30"),
        ((10, 30), "average2-10-30"),
    ],
)
def test_an_evaluation_is_named_after_text_weights_and_search(steps, weights):
    name = run_evaluation.evaluation_name("test", steps, SETTINGS)
    assert name == f"test.{weights}.beam4.gnmt0.6"


def test_means_over_different_steps_never_share_a_name():
    choices = [(10, 20, 40), (10, 30, 40), (10, 25, 40), (20, 30, 40)]
    names = {
        run_evaluation.evaluation_name("test", steps, SETTINGS) for steps in choices
    }
    assert len(names) == len(choices)


def test_namesakes_splits_and_extra_scores_have_names_of_their_own(tmp_path):
    texts = ["test", *map(run_evaluation.file_name, ("a/test", "b/test", "test"))]
    extras = [(), ("comet",), ("phenomena", "comet")]
    names = {
        run_evaluation.evaluation_name(text, (30,), SETTINGS, extra)
        for text in texts
        for extra in extras
    }
    assert len(names) == len(texts) * len(extras)
    assert run_evaluation.file_name("a/../b/test") == texts[2]


def test_another_least_length_is_another_evaluation(tmp_path):
    config = tiny_config(write_text(tmp_path / "text"), num_steps=1)
    experiment.train(config, tmp_path / "run")
    run = load_run(tmp_path / "run")
    names = [
        run_evaluation.evaluate_run(run, changes).name
        for changes in ({}, {"min_length": 1}, {"min_length": 0}, {"min_length": 2})
    ]
    assert names[0] == names[1] == "test.step-1.beam2.gnmt0.6"
    assert names[2:] == [f"{names[0]}.min0", f"{names[0]}.min2"]


def test_a_pipe_is_named_after_its_lines(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path / "fifo"), "-", "/dev/fd/63"):
        names = {run_evaluation.file_name(path, [line]) for line in "aba"}
        assert len(names) == 2


@pytest.mark.parametrize(
    ("fields", "split", "expected"),
    [
        ({"source": "grammar"}, "test", "grammar test (3003 lines)"),
        ({"test_source": "a/flickr.en"}, "test", "flickr.en (3003 lines)"),
        ({"test_source": "newstest2014.en"}, "test", "newstest2014 (full)"),
        (
            {"test_source": "newstest2014.en,more.en"},
            "test",
            "files test (3003 lines)",
        ),
        (
            {"source": "tfds", "tfds": {"name": "wmt14_translate/fr-en"}},
            "test",
            "newstest2014 (full)",
        ),
        (
            {"source": "tfds", "tfds": {"directory": "x/ted/1.0.0"}},
            "validation",
            "x/ted/1.0.0 validation (3003 lines)",
        ),
    ],
)
def test_a_split_is_named_after_what_the_config_says_it_is_of(fields, split, expected):
    data = default.get_config().data
    data.update(fields)
    assert str(run_evaluation.name_split_or_file(data, split, None, 3003)) == expected
    other = run_evaluation.name_split_or_file(data, split, "b/other.en", 3003)
    assert str(other) == "other.en (3003 lines)"


def test_the_filtered_test_set_is_known_by_any_codes_of_its_languages():
    data = default.get_config().data
    data.update(source_language="eng", target_language="de_DE")
    text = run_evaluation.name_split_or_file(data, "test", "newstest2014.en", 2737)
    assert str(text) == "newstest2014 (filtered)"


def test_two_sides_of_different_length_are_refused_by_name(tmp_path):
    source, reference = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("one\n")
    reference.write_text("eins\nzwei\n")
    with pytest.raises(UserError, match=r"a\.en has 1 lines, .*a\.de has 2"):
        run_evaluation.read_aligned(str(source), str(reference))


def _trained(directory, steps=(2, 4)):
    """Return a run as far as its notes on a mean go: step 4 has the best score."""
    config = default.get_config()
    config.optimizer.warmup_steps = 2
    run = types.SimpleNamespace(
        config=config, directory=RunDirectory(directory), steps=steps
    )
    rows = [{"step": 2, "validation/sacrebleu": 5.0}, {"step": 4, "train/loss": 1.0}]
    rows += [{"step": 4, "validation/sacrebleu": 20.0}]
    run.directory.metrics_path.write_text("".join(f"{json.dumps(r)}\n" for r in rows))
    return run


def _keep_validation(run, score):
    name = run_evaluation.evaluation_name("validation", run.steps, SETTINGS)
    run.directory.write_evaluation(name, {"sacrebleu": score}, [])


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_mean_below_the_best_single_checkpoint_is_remarked_on(tmp_path, is_kept):
    run = _trained(tmp_path)
    if is_kept:
        _keep_validation(run, 19.5)
    (note,) = run_evaluation.note_mean(run, SETTINGS, None if is_kept else 19.5)
    assert "2 checkpoints has a sacreBLEU of 19.50 on the validation split" in note
    assert "step 4 alone 20.00" in note


def test_a_mean_that_is_better_is_not(tmp_path):
    assert not run_evaluation.note_mean(_trained(tmp_path), SETTINGS, 20.5)
    assert not run_evaluation.note_mean(_trained(tmp_path, (4,)), SETTINGS, 1.0)


def test_a_mean_of_which_validation_knows_nothing_is_remarked_on(tmp_path):
    run = _trained(tmp_path)
    (note,) = run_evaluation.note_mean(run, SETTINGS, None)
    assert "--split validation scores it" in note
    greedy = dataclasses.replace(SETTINGS, beam_size=1)  # Lower for that alone.
    assert run_evaluation.note_mean(run, greedy, 19.5) == [note]


def test_a_mean_from_the_warm_up_on_is_remarked_on(tmp_path):
    run = _trained(tmp_path)
    run.config.optimizer.warmup_steps = 3
    (note,) = run_evaluation.note_mean(run, SETTINGS, 20.5)
    assert note == (
        "The mean of 2 checkpoints begins at step 2, within the warm-up of 3 steps."
    )
