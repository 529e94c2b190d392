"""The report on BERT's tasks: published scores, and those of runs beside them."""

import importlib
import json

import pytest

from transformer_jax.config import default
from transformer_jax.reports import bert
from transformer_jax.reports.bert_numbers import BERT_RESULTS
from transformer_jax.runs.directory import RunDirectory


def test_every_task_of_the_paper_has_its_published_scores():
    rows = bert.make_report().rows
    assert len(rows) == 11
    assert all(row["large"] is not None and row["measured"] is None for row in rows)
    by_row = {row["row"]: row for row in rows}
    assert (by_row["cola"]["base"], by_row["squad2"]["base"]) == (52.1, None)


@pytest.mark.parametrize(
    "result", [result for result in BERT_RESULTS if result.score], ids=lambda r: r.row
)
def test_every_task_of_classes_has_a_config_that_chooses_by_its_score(result):
    config = importlib.import_module(f"configs.bert.glue.{result.row}").get_config()
    assert config.task.score == result.score
    assert config.task.num_sentences == 1 + config.data.labelled.text_columns.count(",")


def test_a_run_stands_in_the_row_that_its_folder_names(tmp_path):
    directory = RunDirectory(tmp_path / "cola")
    config = default.get_config("bert", "classification")
    directory.claim(config, ("text", "labels"))
    directory.metrics_path.write_text(json.dumps({"step": 7}) + "\n")
    for split, value in (("validation", 0.5), ("test", 0.9)):
        report = {"matthews": value, "produced_by": {"split": split}}
        directory.write_evaluation(f"{split}.step-7", report, ["1"])
    rows = bert.make_report([tmp_path / "cola"]).rows
    (row,) = (row for row in rows if row["measured"] is not None)
    assert (row["row"], row["measured"], row["steps"]) == ("cola", 50.0, 7)
