import json

import pytest

from benchmarks.table3_multi30k import ROWS, make_report
from configs import multi30k_table3
from tests.reports.a_run import write_run
from transformer_jax.reports.paper_numbers import TABLE_3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.paper_row)
def test_each_row_of_the_small_table_3_changes_fields_and_has_one_in_the_paper(row):
    config = multi30k_table3.get_config()
    before = config.to_json()
    config.update_from_flattened_dict(row.changes)
    assert (config.to_json() != before) == bool(row.changes)
    assert row.paper_row in [variation.row for variation in TABLE_3]


def test_the_small_table_3_has_the_mean_of_the_seeds_and_their_spread(tmp_path):
    for seed, scores in enumerate([(20.0, 9.0), (21.0, 8.0)]):
        directory = write_run(tmp_path / f"a_heads_1.seed{seed}", tmp_path / "text")
        bleu, perplexity = scores
        row = {"validation/sacrebleu": bleu, "validation/perplexity": perplexity}
        directory.metrics_path.write_text(json.dumps({"step": 4, **row}) + "\n")
    (row,) = make_report(tmp_path, seeds=[0, 1, 2]).rows
    assert (row["row"], row["measured_seeds"]) == ("(A) 1 head", 2)
    assert row["measured_sacrebleu"] == 20.5
    assert row["measured_sacrebleu_spread"] == 1.0
    assert row["measured_perplexity"] == 8.5
    # 24.9 and 5.29 in the paper, from 25.8 and 4.92.
    assert row["paper_bleu_change"] == -0.9
    assert row["paper_perplexity_change"] == 0.37
