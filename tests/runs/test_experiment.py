import json
import pathlib
import re
import shutil

import jax
import numpy as np
import pytest

from tests.tiny_run import tiny_config
from transformer_jax.data.tokenizer import train_tokenizer
from transformer_jax.errors import UserError
from transformer_jax.evaluation.scores import score
from transformer_jax.runs import experiment
from transformer_jax.runs.run_check import accept_run
from transformer_jax.runs.trained_run import load_run
from transformer_jax.training.checkpoints import CheckpointStore


@pytest.fixture(scope="module")
def run(text: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A finished run of four steps; tests copy it before they change it."""
    workdir = tmp_path_factory.mktemp("runs") / "unbroken"
    experiment.train(tiny_config(text), workdir)
    return workdir


def _params(workdir: pathlib.Path, step: int) -> dict[str, np.ndarray]:
    run = load_run(workdir, str(step))
    leaves = jax.tree_util.tree_leaves_with_path(run.params)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def _assert_equal_runs(ours: pathlib.Path, theirs: pathlib.Path, step: int) -> None:
    left, right = _params(ours, step), _params(theirs, step)
    assert left.keys() == right.keys()
    for name, values in left.items():
        np.testing.assert_array_equal(values, right[name], err_msg=name)


def test_a_run_that_goes_on_ends_bit_for_bit_where_the_unbroken_one_ends(
    text, run, tmp_path
):
    workdir = tmp_path / "broken"
    experiment.train(tiny_config(text, num_steps=2), workdir)
    experiment.train(tiny_config(text, num_steps=4), workdir)
    _assert_equal_runs(workdir, run, 4)
    # Loss and learning rate too; times differ.
    rows = [
        [json.loads(line) for line in (path / "metrics.jsonl").open()]
        for path in (workdir, run)
    ]
    for name in ("step", "train/loss", "train/learning_rate"):
        assert [row[name] for row in rows[0]] == [row[name] for row in rows[1]]


def _losses(config, workdir: pathlib.Path) -> list[float]:
    experiment.train(config, workdir)
    rows = [json.loads(line) for line in (workdir / "metrics.jsonl").open()]
    return [row["train/loss"] for row in rows if "train/loss" in row]


@pytest.mark.slow
def test_devices_and_micro_batches_leave_the_loss_curve_alone(text, tmp_path):
    """A batch is a number of tokens in all, whoever computes it and in how many parts.

    At a constant rate, so that it falls visibly; the paper's first steps are tiny.
    """

    def curve(num_devices: int, num_micro_batches: int) -> list[float]:
        config = tiny_config(text, num_steps=20)
        config.optimizer.update(
            schedule="constant",
            warmup_steps=0,
            peak_learning_rate=1e-3,
            factor=1.0,
            weight_decay=0.1,
        )
        config.evaluation.eval_every_steps = 0
        config.checkpoints.save_every_steps = 0
        config.sharding.data = num_devices
        config.training.num_micro_batches = num_micro_batches
        return _losses(config, tmp_path / f"{num_devices}_{num_micro_batches}")

    expected = curve(1, 1)
    assert len(expected) == 20
    assert expected[-1] < expected[0] - 0.4
    for num_devices, num_micro_batches in ((2, 1), (4, 1), (1, 4)):
        losses = curve(num_devices, num_micro_batches)
        np.testing.assert_allclose(losses, expected, rtol=2e-6)


def test_a_finished_run_says_so_and_trains_no_further(text, run, caplog):
    caplog.set_level("INFO", logger="transformer_jax")
    before = (run / "metrics.jsonl").read_text()
    experiment.train(tiny_config(text), run)
    assert "finished: 4 of 4 steps" in caplog.text
    assert (run / "metrics.jsonl").read_text() == before


def test_the_step_that_a_run_ended_at_is_said_whatever_else_lies_there(
    text, run, tmp_path, caplog
):
    caplog.set_level("INFO", logger="transformer_jax")
    workdir = shutil.copytree(run, tmp_path / "run")
    for folder in ("checkpoints", "parameters"):
        shutil.copytree(workdir / folder / "4", workdir / folder / "90")
    experiment.train(tiny_config(text, num_steps=5), workdir)
    assert "finished at step 5" in caplog.text


def test_a_run_needs_nothing_but_its_directory(text, run, tmp_path):
    moved = shutil.copytree(run, tmp_path / "elsewhere")
    config = json.loads((moved / "config.json").read_text())
    config["data"]["directory"] = "/nowhere"
    (moved / "config.json").write_text(json.dumps(config))
    accept_run(moved)
    shutil.rmtree(moved / "tokens")
    shutil.rmtree(moved / "checkpoints")
    lines = ["The dog sleeps.", "", "A cat has slept."]
    translations = load_run(moved).translator().translate(lines)
    assert len(translations) == 3
    assert translations[1].text == ""
    assert load_run(moved).directory.read_split("test")[0] == (
        (text / "test.en").read_text().splitlines()
    )


def test_validation_scores_equal_translating_and_scoring_by_hand(run):
    rows = [json.loads(line) for line in (run / "metrics.jsonl").open()]
    logged = {row["step"]: row for row in rows if "validation/chrf" in row}
    assert logged.keys() == {2, 4}
    for step, row in logged.items():
        trained = load_run(run, str(step))
        sources, references = trained.directory.read_split("validation")
        lines = trained.translator(beam_size=1).translate(sources)
        scores = score([line.text for line in lines], references, "de")
        assert scores.sacrebleu == pytest.approx(row["validation/sacrebleu"], abs=0.01)
        assert scores.chrf == pytest.approx(row["validation/chrf"], abs=0.01)


def test_validation_says_when_translations_say_nothing(text, tmp_path, caplog):
    config = tiny_config(text, num_steps=1)
    config.decoding.max_extra_length = 50
    experiment.train(config, tmp_path / "run")
    assert re.search(r"Validation: \d of 8 translated lines", caplog.text)


def test_another_result_is_refused_and_the_fields_are_named(text, run):
    config = tiny_config(text)
    config.seed = 7
    config.model.dropout_rate = 0.25
    with pytest.raises(UserError) as error:
        experiment.train(config, run)
    assert "config.seed: 0 before, 7 now" in str(error.value)
    assert "config.model.dropout_rate: 0.1 before, 0.25 now" in str(error.value)


def test_fields_that_leave_the_result_alone_may_change(text, run, tmp_path, caplog):
    caplog.set_level("INFO", logger="transformer_jax")
    workdir = shutil.copytree(run, tmp_path / "run")
    config = tiny_config(text, num_steps=5)
    config.checkpoints.save_every_steps = 1
    config.training.num_micro_batches = 2
    experiment.train(config, workdir)
    assert "config.training.num_steps: 4 before, 5 now" in caplog.text
    assert load_run(workdir, "last").steps == (5,)


def test_what_failed_before_training_may_be_put_right_in_the_same_place(text, tmp_path):
    config = tiny_config(text, num_steps=1)
    config.data.validation_source = "missing.en"
    with pytest.raises(UserError, match="missing.en"):
        experiment.train(config, tmp_path / "run")
    config = tiny_config(text, num_steps=1)
    config.model.num_heads = 5
    config.data.vocab_size = 340
    with pytest.raises(UserError, match="d_k"):
        experiment.train(config, tmp_path / "run")
    config.model.num_heads = 4
    experiment.train(config, tmp_path / "run")
    run = load_run(tmp_path / "run")
    assert run.source_tokenizer.vocab_size == 340


def test_files_that_no_run_has_written_are_left_alone(text, tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text/train.en").write_text("Mine.\n")
    with pytest.raises(UserError, match="is no run, but holds text"):
        experiment.train(tiny_config(text), tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match="not the config of a run"):
        experiment.train(tiny_config(text), tmp_path)
    assert (tmp_path / "text/train.en").read_text() == "Mine.\n"
    assert (tmp_path / "config.json").read_text() == "{}"


def test_another_tokenizer_in_a_run_is_refused(run, tmp_path):
    workdir = shutil.copytree(run, tmp_path / "run")
    path = workdir / "tokenizer.model"
    train_tokenizer(["another text", "of other words"] * 9, path, vocab_size=280)
    with pytest.raises(UserError, match="tokenizer.model is not as this program"):
        load_run(workdir)
    (workdir / "manifest.json").unlink()  # As runs were before there was one.
    with pytest.raises(UserError, match="not the tokenizer that this run"):
        load_run(workdir)


def test_other_text_under_the_same_names_is_refused(text, run, tmp_path):
    other = shutil.copytree(text, tmp_path / "text")
    with (other / "train.de").open("a") as file:
        file.write("Noch ein Satz.\n")
    with (other / "train.en").open("a") as file:
        file.write("One more sentence.\n")
    workdir = shutil.copytree(run, tmp_path / "run")
    with pytest.raises(UserError, match="another train"):
        experiment.train(tiny_config(other, num_steps=5), workdir)


def test_text_may_move(text, run, tmp_path):
    other = shutil.copytree(text, tmp_path / "text")
    workdir = shutil.copytree(run, tmp_path / "run")
    experiment.train(tiny_config(other, num_steps=5), workdir)
    assert load_run(workdir, "last").steps == (5,)


def test_training_can_start_from_the_weights_of_another_run(text, run, tmp_path):
    config = tiny_config(text, num_steps=1)
    source = shutil.copytree(run, tmp_path / "source")
    config.training.init_from = str(source)
    config.optimizer.factor = 0.0
    experiment.train(config, tmp_path / "run")
    # To go on, the run that it began from is not needed.
    shutil.rmtree(source)
    config.training.num_steps = 2
    experiment.train(config, tmp_path / "run")
    best = load_run(run).steps[0]
    ours, theirs = _params(tmp_path / "run", 2), _params(run, best)
    for name, values in theirs.items():
        np.testing.assert_array_equal(ours[name], values, err_msg=name)


def test_the_mean_of_checkpoints_is_over_those_named(run):
    average = load_run(run, average=2)
    assert average.steps == (2, 4)
    both = [_params(run, step) for step in average.steps]
    leaves = jax.tree_util.tree_leaves_with_path(average.params)
    for path, mean in leaves:
        name = jax.tree_util.keystr(path)
        np.testing.assert_allclose(mean, (both[0][name] + both[1][name]) / 2, atol=1e-7)


def test_a_range_of_steps_is_averaged_as_its_steps_are(run):
    average, expected = load_run(run, average_steps=(2, 4, 2)), load_run(run, average=2)
    assert average.steps == (2, 4)
    assert load_run(run, average_steps=(3, 9, None)).steps == (4,)
    for ours, theirs in zip(
        jax.tree.leaves(average.params), jax.tree.leaves(expected.params), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_weights_of_another_size_to_start_from_are_refused(text, run, tmp_path):
    config = tiny_config(text, num_steps=1)
    config.model.d_ff = 24
    config.training.init_from = str(run)
    message = "config.training.init_from: .*does not fit this model"
    with pytest.raises(UserError, match=message):
        experiment.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()  # Before any text was read.


def test_two_tokenizers_to_take_over_are_refused_unless_they_are_the_same(
    text, run, tmp_path, caplog
):
    other = tmp_path / "other.model"
    train_tokenizer(["Ein ganz anderer Text.", "abc"], other, vocab_size=290)
    config = tiny_config(text, num_steps=1)
    config.training.init_from = str(run)
    config.data.tokenizer_path = str(other)
    with pytest.raises(UserError, match="config.data.tokenizer_path=.*another"):
        experiment.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    config.data.tokenizer_path = str(run / "tokenizer.model")
    config.data.vocab_size = 9999
    with caplog.at_level("INFO"):
        experiment.train(config, tmp_path / "run")
    assert f"The tokenizer is {run}/tokenizer.model, of 330 pieces" in caplog.text
    assert "config.data.vocab_size=9999" in caplog.text
    # The vocabulary that counts is the one taken over.
    config.decoding.beam_size = 331
    with pytest.raises(UserError, match="beam_size=331 is wider.* of 330 tokens"):
        experiment.train(config, tmp_path / "run")
    with pytest.raises(UserError, match="beam_size=331 is wider.* of 330 tokens"):
        load_run(run).translator(beam_size=331)


def test_a_mean_from_the_warm_up_on_is_warned_of_whatever_it_is_for(
    run, tmp_path, caplog
):
    load_run(run, average=2)
    assert not any("warm-up" in message for message in caplog.messages)
    late = shutil.copytree(run, tmp_path / "run")
    config = json.loads((late / "config.json").read_text())
    config["optimizer"]["warmup_steps"] = 3
    (late / "config.json").write_text(json.dumps(config))
    (late / "manifest.json").unlink()
    load_run(late, average=2)
    assert "begins at step 2, within the warm-up of 3 steps" in caplog.text


@pytest.mark.parametrize(
    ("workdir", "checkpoint", "message"),
    [
        ("run", "3", "the steps 2, 4, but not 3"),
        ("run", "newest", "neither best, last nor a number"),
        ("missing", "best", "is not a run"),
    ],
)
def test_a_missing_checkpoint_is_said(run, workdir, checkpoint, message):
    place = run if workdir == "run" else run / "missing"
    with pytest.raises(UserError, match=message):
        load_run(place, checkpoint)


def test_a_run_without_checkpoint_is_said(run, tmp_path):
    workdir = shutil.copytree(run, tmp_path / "run")
    shutil.rmtree(workdir / "parameters")
    with pytest.raises(UserError, match="There is no whole checkpoint"):
        load_run(workdir)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(text, run, tmp_path, caplog):
    workdir = shutil.copytree(run, tmp_path / "run")
    victim = max(
        (path for path in (workdir / "checkpoints/4").rglob("*") if path.is_file()),
        key=lambda path: path.stat().st_size,
    )
    victim.write_bytes(victim.read_bytes()[:-1])
    with CheckpointStore(workdir) as store:
        assert store.steps() == [2, 4]
    experiment.train(tiny_config(text, num_steps=5), workdir)
    assert "checkpoints/4" in caplog.text
    unbroken = shutil.copytree(run, tmp_path / "unbroken")
    experiment.train(tiny_config(text, num_steps=5), unbroken)
    _assert_equal_runs(workdir, unbroken, 5)


def test_a_run_goes_on_without_the_tokenizer_that_it_took_over(text, run, tmp_path):
    given = shutil.copy(run / "tokenizer.model", tmp_path)
    config = tiny_config(text, num_steps=1)
    config.data.tokenizer_path = str(given)
    experiment.train(config, tmp_path / "run")
    pathlib.Path(given).unlink()
    config.training.num_steps = 2
    assert experiment.train(config, tmp_path / "run") == "finished"
    # A new one needs it.
    with pytest.raises(UserError, match="config.data.tokenizer_path: Cannot read"):
        experiment.train(config, tmp_path / "another")
    assert not (tmp_path / "another").exists()
