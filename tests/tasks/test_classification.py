import subprocess
import sys

import numpy as np
import pytest

from tests.tiny_bert import tiny_bert_config
from transformer_jax.config import default
from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.batch_shapes import BatchShape
from transformer_jax.data.tokenizer import SpecialIds
from transformer_jax.errors import UserError
from transformer_jax.runs import experiment
from transformer_jax.runs.class_evaluation import evaluate_classes
from transformer_jax.runs.trained_run import load_run
from transformer_jax.tasks.classification import (
    ClassificationSettings,
    TaggingSettings,
    classification,
    tagging,
)
from transformer_jax.visualization.attention_maps import collect_attention

SPECIALS = SpecialIds(0, 1, 2)
ANIMALS = ["dog", "fox", "cat", "hen"]


class _Cache:
    """A cache of these sides."""

    def __init__(self, *sides):
        self._sides = sides
        self.lengths = np.array([[len(ids) for ids in side] for side in sides])

    def gather(self, texts):
        return tuple(
            np.concatenate([np.array(side[text], np.int32) for text in texts])
            for side in self._sides
        )


def _planned(*texts):
    rows = np.arange(len(texts))
    return PlannedBatch(BatchShape(3, 8, 8), np.array(texts), rows)


def test_a_batch_of_pairs_worked_out_by_hand():
    task = classification(ClassificationSettings(num_sentences=2, row_length=8))
    cache = _Cache([[11], [12, 13, 14, 15]], [[21, 22], [23]], [[1], [0]])
    # 1 + 2 and 4 + 1, with one that opens and two that close, but for the plan's own.
    np.testing.assert_array_equal(task.plan_lengths(cache.lengths), [[5, 7]] * 2)
    batch = task.make_batch(cache, _planned(1, 0), SPECIALS)
    assert batch.rows.tokens[0].tolist() == [1, 12, 13, 14, 15, 2, 23, 2]
    assert batch.rows.tokens[1].tolist() == [1, 11, 2, 21, 22, 2, 0, 0]
    assert batch.classes.tolist() == [[0], [1], [0]]
    assert batch.loss_weights.tolist() == [[1.0], [1.0], [0.0]]


def test_a_batch_of_tags_worked_out_by_hand():
    task = tagging(TaggingSettings(labels="O,X,Y", row_length=8))
    # Words of 1 + 2 pieces, and of eight pieces, for six of which there is room.
    words = [[2 * 11 + 1, 2 * 12 + 1, 2 * 13], [2 * n + 1 for n in range(20, 28)]]
    cache = _Cache(words, [[2, 1], [1] * 8])
    batch = task.make_batch(cache, _planned(0, 1), SPECIALS)
    assert batch.rows.tokens[0].tolist() == [1, 11, 12, 13, 2, 0, 0, 0]
    assert batch.rows.tokens[1].tolist() == [1, 20, 21, 22, 23, 24, 25, 2]
    assert batch.classes[0].tolist() == [0, 2, 1, 0, 0, 0, 0, 0]
    assert batch.loss_weights.tolist() == [
        [0, 1, 1, 0, 0, 0, 0, 0],
        [0, 1, 1, 1, 1, 1, 1, 0],
        [0] * 8,
    ]


def _config(tmp_path, task, num_steps=40, **settings):
    config = tiny_bert_config(task, num_steps, every=num_steps, max_positions=16)
    config.task.update(row_length=16, **settings)
    config.data.update(source="labelled", vocab_size=300)
    config.data.labelled.update(
        directory=str(tmp_path),
        train="train.tsv",
        validation="validation.tsv",
        test="validation.tsv",
    )
    config.training.log_every_steps = num_steps
    return config


def _write(tmp_path, rows, names):
    table = ["\t".join(row) for row in (names, *rows)]
    for name, number in (("train.tsv", None), ("validation.tsv", 9)):
        (tmp_path / name).write_text("\n".join(table[:number]) + "\n")


@pytest.fixture
def animals(tmp_path):
    """Texts whose label says whether there is a dog."""
    rows = [
        (f"the {one} and the {other}", "yes" if "dog" in (one, other) else "no")
        for one in ANIMALS
        for other in ANIMALS
    ]
    _write(tmp_path, rows * 4, ("sentence", "label"))
    return tmp_path


def test_texts_are_classified_and_a_run_goes_on_bit_for_bit(animals):
    experiment.train(_config(animals, "classification"), animals / "whole")
    run = load_run(animals / "whole", checkpoint="last")
    evaluation = evaluate_classes(run)
    assert evaluation.scores.accuracy == 1.0
    assert evaluation.guesses == evaluation.truths
    maps = collect_attention(run, "the dog and the hen")
    num_pieces = len(maps.source_pieces)
    assert maps.weights["encoder"].shape == (1, 2, num_pieces, num_pieces)
    assert (maps.source_pieces[0], maps.source_pieces[-1]) == ("<s>", "</s>")
    np.testing.assert_allclose(maps.weights["encoder"].sum(-1), 1.0, atol=1e-5)
    config = _config(animals, "classification")
    config.training.num_steps = 20
    config.checkpoints.save_every_steps = 20
    experiment.train(config, animals / "parts")
    experiment.train(_config(animals, "classification"), animals / "parts")
    parts = load_run(animals / "parts", checkpoint="last")
    np.testing.assert_array_equal(
        parts.params["classifier"]["kernel"], run.params["classifier"]["kernel"]
    )


def test_prediction_goes_line_by_line(animals):
    experiment.train(_config(animals, "classification"), animals / "run")
    command = [sys.executable, "-m", "transformer_jax"]
    found = subprocess.run(
        [*command, "predict", "--workdir", animals / "run", "--probabilities"],
        input="the dog and the hen\n\nthe cat and the fox",
        capture_output=True,
        text=True,
        check=True,
    )
    first, empty, last = found.stdout.splitlines()
    assert first.startswith("yes\t0.9") or first.startswith("yes\t1.0")
    assert (empty, last.split("\t")[0]) == ("", "no")
    found = subprocess.run(
        [*command, "evaluate", "--workdir", animals / "run", "--examples", "1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "accuracy, %" in found.stdout and "prediction  yes" in found.stdout
    with pytest.raises(UserError, match="whose runs do not translate.*`predict`"):
        load_run(animals / "run").translator()


def test_words_are_tagged_in_parts_where_a_text_is_long(tmp_path):
    rows = [
        (f"the {one} and the {other}", f"O {one == 'dog'} O O {other == 'dog'}")
        for one in ANIMALS
        for other in ANIMALS
    ]
    rows = [
        (text, tags.replace("True", "DOG").replace("False", "O")) for text, tags in rows
    ]
    _write(tmp_path, rows * 4, ("sentence", "label"))
    experiment.train(_config(tmp_path, "tagging", labels="O,DOG"), tmp_path / "run")
    run = load_run(tmp_path / "run")
    assert evaluate_classes(run).scores.accuracy == 1.0
    long = ("the dog and the hen and " * 5).split()
    (found,) = run.classifier().classify([(" ".join(long),)])
    assert found.classes == tuple(int(word == "dog") for word in long)


def test_pairs_have_types_and_a_start_gives_what_both_have(tmp_path):
    rows = [
        (one, other, "yes" if one == other else "no")
        for one in ANIMALS
        for other in ANIMALS
    ]
    _write(tmp_path, rows * 4, ("sentence1", "sentence2", "label"))
    (tmp_path / "text.en").write_text("\n".join(ANIMALS * 20) + "\n")
    before = default.get_config(model="bert", task="masked_language_model")
    config = _config(tmp_path, "classification", num_sentences=2, num_steps=1)
    before.update(model=config.model, optimizer=config.optimizer)
    before.data.update(
        directory=str(tmp_path),
        train_source="text.en",
        validation_source="text.en",
        vocab_size=290,
        tokens_per_batch=256,
        max_length=14,
    )
    before.training.num_steps = before.checkpoints.save_every_steps = 1
    experiment.train(before, tmp_path / "before")
    config.training.init_from = str(tmp_path / "before")
    config.data.labelled.text_columns = "sentence1,sentence2"
    config.optimizer.peak_learning_rate = 1e-9
    experiment.train(config, tmp_path / "run")
    start, run = load_run(tmp_path / "before"), load_run(tmp_path / "run")
    np.testing.assert_allclose(
        run.params["token_embedding"]["embedding"],
        start.params["token_embedding"]["embedding"],
        atol=1e-6,
    )
    assert set(run.params) - set(start.params) == {"classifier"}
    config.model.d_model = 8
    with pytest.raises(UserError, match="Give config.model the same sizes"):
        experiment.train(config, tmp_path / "other")


def test_what_does_not_go_together_is_refused(animals):
    config = _config(animals, "classification")
    config.data.source = "grammar"
    with pytest.raises(UserError, match="has no labels.*fit: grammar_labels, labelled"):
        experiment.train(config, animals / "run")
    config = _config(animals, "classification", num_sentences=1)
    config.data.batching = "packed"
    with pytest.raises(UserError, match="packed puts several texts into a row"):
        experiment.train(config, animals / "run")
    config = _config(animals, "classification")
    config.model.max_positions = 15
    with pytest.raises(UserError, match="row_length=16, but .* room for 15 pieces"):
        experiment.train(config, animals / "run")
    config = _config(animals, "classification", labels="no")
    with pytest.raises(UserError, match="two names or more"):
        experiment.train(config, animals / "run")
    with pytest.raises(UserError, match="expected 1 or 2"):
        ClassificationSettings(num_sentences=3)
