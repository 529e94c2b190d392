import json
import subprocess
import sys

import pytest

from configs import wmt14_ende_base as paper_recipe
from configs import wmt14_ende_tensor2tensor as tensor2tensor
from tests.reports.a_run import write_run
from tests.test_configs import NUM_PARAMS
from transformer_jax.costs.training import Cost
from transformer_jax.errors import UserError
from transformer_jax.files import read_checked_json
from transformer_jax.reports import (
    card,
    cost,
    reproduce,
    row_models,
    table1,
    table2,
    table3,
)
from transformer_jax.reports.layer_types import LAYER_TYPES
from transformer_jax.reports.paper_numbers import TABLE_3
from transformer_jax.reports.run_cost import run_cost
from transformer_jax.reports.run_summary import read_run
from transformer_jax.runs.hardware_record import record_hardware


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return write_run(folder / "a_heads_1", folder / "text").root


def _rows(report):
    return {row["row"]: row for row in report.rows}


def test_table_3_counts_the_real_model_and_says_where_the_paper_differs():
    report = table3.make_report()
    rows = _rows(report)
    assert len(rows) == len(TABLE_3) == 20
    for variation in TABLE_3:
        # Its config pads the vocabulary by 120 pieces, a row each of the table.
        expected = (
            NUM_PARAMS[f"configs.table3.{variation.row}"] - 120 * variation.d_model
        )
        assert rows[variation.row]["computed_params"] == expected
    assert rows["base"]["computed_params_difference"] == -3.0
    differences = [row["computed_params_difference"] for row in rows.values()]
    assert all(abs(difference or 0) < 7 for difference in differences)
    assert any("37 000" in note for note in report.notes)


def test_table_3_puts_a_run_into_the_row_of_its_name(run):
    row = _rows(table3.make_report([run]))["a_heads_1"]
    assert row["measured_perplexity"] == 7
    assert row["measured_paper_bleu"] == 27.6
    assert row["paper_bleu"] == 24.9


def test_table_2_prints_the_papers_flops_from_its_times():
    rows = _rows(table2.make_report())
    assert len(rows) == 10
    base, big = rows["Transformer (base)"], rows["Transformer (big)"]
    assert base["computed_flops_by_time"] == pytest.approx(3.28e18, rel=1e-3)
    assert big["computed_flops_by_time"] == pytest.approx(2.30e19, rel=2e-3)
    # 6 operations for each of 63 million weights and 2.5 billion tokens, and attention.
    assert base["computed_flops"] == pytest.approx(6 * 63e6 * 2.5e9, rel=0.02)


def test_table_2_has_a_row_for_each_text_that_a_run_was_scored_on(run):
    rows = _rows(table2.make_report([run], accelerator="TPU v5e", num_chips=2))
    row = rows["a_heads_1"]
    assert row["measured_weights"] == "step 4"
    assert row["measured_search"] == "beam 4, gnmt 1"
    assert row["measured_sacrebleu"] == 27.1
    assert row["measured_paper_bleu"] == 27.6
    assert row["measured_on"] == "newstest2014 (full)"
    # 600 target pieces in each of two reports, at 10 and 30 a second.
    assert row["measured_hours"] == pytest.approx(80 / 3600)
    assert row["computed_flops_by_time"] == pytest.approx(80 * 2 * 0.4 * 197e12)
    per_token = row["computed_flops"] / 1200
    assert row["computed_utilisation"] == pytest.approx(20 * per_token / (2 * 197e12))


def test_table_2_takes_the_devices_that_a_run_wrote_down(run):
    (row, *_) = [
        row for row in table2.make_report([run]).rows if run.name in row["row"]
    ]
    assert row["computed_flops_by_time"] == pytest.approx(80 * 4 * 0.4 * 275e12)


def test_a_chip_that_is_two_devices_to_jax_counts_once(tmp_path):
    directory = write_run(tmp_path / "v3", tmp_path / "text")
    record_hardware(directory, 0, {"device_kind": "TPU v3", "num_devices": 8})
    cost = run_cost(read_run(directory.root))
    assert cost.flops_by_time == pytest.approx(80 * 4 * 0.4 * 123e12)


def test_no_chips_at_all_are_refused(run):
    with pytest.raises(UserError, match="--num_chips=0: expected at least 1"):
        table2.make_report([run], accelerator="TPU v4", num_chips=0)


def test_a_run_that_never_counted_its_time_has_no_cost_by_time(tmp_path):
    directory = write_run(tmp_path / "old", tmp_path / "text")
    directory.metrics_path.write_text('{"step": 4, "train/loss": 2.0}\n')
    cost = run_cost(read_run(directory.root))
    # Batches count as full: 4 of 256 pieces on each side.
    assert cost.flops > 0
    assert cost == Cost(cost.accelerator, flops=cost.flops)


def test_table_1_measures_every_layer():
    rows = [
        row for name in LAYER_TYPES for row in table1.measure(name, (25, 36), (16, 32))
    ]
    for row in rows:
        assert row["products"] <= row["flops"] < 2 * row["products"]
    found = {(row["layer"], row["n"], row["d"]): row for row in rows}
    # 8 n d^2 + 4 n^2 d, and 16 n d^2
    products = 8 * 36 * 32**2 + 4 * 36**2 * 32
    assert found["self-attention", 36, 32]["products"] == products
    assert found["recurrent (LSTM)", 36, 32]["products"] == 16 * 36 * 32**2
    paths = {
        layer: (found[layer, 25, 16]["path"], found[layer, 36, 16]["path"])
        for layer in LAYER_TYPES
    }
    assert paths == {
        "self-attention": (1, 1),
        "recurrent (LSTM)": (24, 35),
        "convolutional, contiguous": (12, 18),  # Two positions a layer.
        "convolutional, dilated": (3, 4),  # log_3
        "self-attention, restricted": (3, 5),  # Eight positions a layer.
    }
    chains = {
        layer: found[layer, 36, 16]["chain"] - found[layer, 25, 16]["chain"]
        for layer in LAYER_TYPES
    }
    assert chains.pop("recurrent (LSTM)") % (36 - 25) == 0
    assert not any(chains.values())


@pytest.mark.parametrize(
    ("other", "crossing"),
    [
        (lambda n: 50 * n, "50"),
        (lambda n: n / 2, "nowhere from 10 on"),
        (lambda n: n**3, "all up to 1000"),
    ],
)
def test_table_1_finds_where_self_attention_stops_being_cheaper(other, crossing):
    costs = {"self-attention": lambda n: n**2, "recurrent (LSTM)": other}
    rows = [
        {"layer": name, "n": n, "d": 7, "gradient_seconds": cost(n)}
        for name, cost in costs.items()
        for n in (10, 100, 1000)
    ]
    assert table1._crossing(rows, "recurrent (LSTM)", 7, "gradient_seconds") == crossing


def test_table_1_fits_the_exponents_of_operations():
    layer = LAYER_TYPES["self-attention"]
    rows = [
        {"n": n, "d": d, "flops": 5 * n**2 * d + layer.projections(n, d)}
        for n in (10, 100)
        for d in (4, 8)
    ]
    assert table1._exponents(layer, rows) == pytest.approx((2, 1))


def test_the_cost_is_operations_over_rate():
    row = _rows(cost.make_report())["TPU v5e-8"]
    seconds = row_models.paper_flops("base") / (8 * 197e12 * row["assumed_utilisation"])
    assert row["computed_hours"] == pytest.approx(seconds / 3600, abs=0.01)


def test_conditions_are_met_or_not_or_unknown(run):
    rows = _rows(reproduce.make_report([run]))
    assert rows["a_heads_1: beam"]["is_met"]
    assert rows["a_heads_1: alpha"]["is_met"] is False
    assert rows["a_heads_1: averaged checkpoints"]["measured_value"] == 1
    assert rows["a_heads_1: data.vocab_size"]["is_met"] is False
    assert rows["a_heads_1: test set"]["is_met"]
    assert rows["a_heads_1: tokenised score"]["is_met"]


@pytest.mark.parametrize(
    ("steps", "score", "measured", "is_met"),
    [
        ([6, 7, 8, 9, 10], 21.0, 5, True),
        ([6, 7, 8, 9, 10], None, 5, True),
        (
            [1, 2, 3, 4, 5],
            21.0,
            "5, but begins at step 1, within the warm-up of 2",
            False,
        ),
        ([6, 7, 8, 9, 10], 19.0, "5, but has a sacreBLEU of 19.00", False),
    ],
)
def test_a_mean_that_misleads_is_no_condition_met(
    tmp_path, steps, score, measured, is_met
):
    directory = write_run(tmp_path / "run", tmp_path / "text")
    with directory.metrics_path.open("w") as file:
        file.write('{"step": 9, "validation/sacrebleu": 20.0}\n')
    (path,) = directory.evaluation.glob("test.*.json")
    report = read_checked_json(path)
    report["produced_by"] |= {"checkpoint_steps": steps, "is_average": True}
    path.write_text(json.dumps(report))
    (path,) = directory.evaluation.glob("validation.*.json")
    if score is None:
        path.unlink()
    else:
        report["produced_by"]["split"] = "validation"
        path.write_text(json.dumps(report | {"sacrebleu": score}))
    rows = _rows(reproduce.make_report([directory.root]))
    row = rows["run: averaged checkpoints"]
    assert str(row["measured_value"]).startswith(str(measured))
    assert row["is_met"] is is_met


@pytest.mark.parametrize("code", ["fr", "fra", "fr_CA"])
def test_french_is_known_by_any_of_its_codes(tmp_path, code):
    directory = write_run(tmp_path / "run", tmp_path / "text", target_language=code)
    rows = _rows(reproduce.make_report([directory.root]))
    assert rows["run: data.vocab_size"]["paper_value"] == 32_000


def test_tensor2tensors_recipe_is_told_from_the_papers_in_every_field(tmp_path):
    directory = write_run(tmp_path / "run", tmp_path / "text")
    configs = [module.get_config() for module in (paper_recipe, tensor2tensor)]
    unmet = []
    for config in configs:
        directory.config_path.write_text(config.to_json())
        rows = reproduce.make_report([directory.root]).rows
        unmet.append({row["row"] for row in rows if row["is_met"] is False})
    paper, other = (config.to_dict() for config in configs)
    changed = {
        f"{section}.{field}"
        for section in ("model", "optimizer", "training")
        for field, value in other[section].items()
        if value != paper[section][field]
    }
    assert len(changed) == 8
    assert {row.removeprefix("run: ") for row in unmet[1] - unmet[0]} == changed


def test_a_run_without_scores_has_conditions_that_are_unknown(tmp_path):
    directory = write_run(tmp_path / "run", tmp_path / "text")
    for path in directory.evaluation.glob("*.json"):
        path.unlink()
    assert _rows(reproduce.make_report([directory.root]))["run: beam"]["is_met"] is None


def test_a_readme_that_is_no_card_stays_and_a_card_is_written_anew(run):
    path = run / "README.md"
    path.write_text("# My notes\n")
    with pytest.raises(UserError, match="README.md is no card .* stays as it is"):
        card.write_card(run)
    assert path.read_text() == "# My notes\n"
    path.unlink()
    for _ in range(2):
        card.write_card(run)


def test_the_card_holds_config_scores_and_sizes(run):
    path = card.write_card(run)
    text = (run / "README.md").read_text()
    assert path == str(run / "README.md")
    assert "nrefs:1\\|case:mixed" in text
    assert '"tokens_per_batch": 256' in text
    assert "| steps | 4 |" in text
    assert "| target tokens trained on | 1 200 |" in text
    assert "| hardware | 4 x TPU v4 |" in text


def test_the_command_prints_a_table_unless_asked_for_markdown():
    command = [sys.executable, "-m", "transformer_jax", "report", "cost"]
    outputs = [
        subprocess.run([*command, *more], capture_output=True, text=True, check=True)
        for more in ((), ("--format", "markdown"))
    ]
    assert outputs[0].stdout.startswith("What the base run costs (estimates)\n\n")
    assert outputs[1].stdout.startswith("# What the base run costs (estimates)\n\n| ")


def test_devices_and_prices_are_about_runs():
    command = [sys.executable, "-m", "transformer_jax", "report", "cost"]
    result = subprocess.run(
        [*command, "--accelerator", "H100"], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "--accelerator is about runs: name them with --workdirs" in result.stderr


def test_the_command_prints_json_rows():
    result = subprocess.run(
        [sys.executable, "-m", "transformer_jax", "report", "cost", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"row", "computed_hours"} <= json.loads(result.stdout)[0].keys()


def test_a_folder_that_is_no_run_is_an_error(tmp_path):
    command = [sys.executable, "-m", "transformer_jax", "report", "reproduce"]
    result = subprocess.run(
        [*command, "--workdirs", str(tmp_path)], capture_output=True, text=True
    )
    assert result.returncode == 1
    assert "is not a run" in result.stderr
