"""What runs cost: hours, operations, and money where a price is known."""

import pytest

from tests.reports.a_run import write_run
from transformer_jax.errors import UserError
from transformer_jax.reports import cost
from transformer_jax.reports.render import render
from transformer_jax.runs.hardware_record import record_hardware


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return write_run(folder / "run", folder / "text")


@pytest.fixture
def on_a_cpu(tmp_path):
    directory = write_run(tmp_path / "run", tmp_path / "text")
    cpu = {"device_kind": "cpu", "num_devices": 8, "num_hosts": 1}
    record_hardware(directory, 0, cpu)
    return directory


def _row(directory, **options):
    (row,) = cost.report_runs([directory.root], **options).rows
    return row


def test_a_run_costs_its_hours_times_its_devices_times_their_price(directory):
    row = _row(directory)
    assert row["measured_devices"] == "4 x TPU v4"
    # 600 target pieces in each of two reports, at 10 and 30 a second.
    assert row["measured_hours"] == pytest.approx(80 / 3600)
    assert row["computed_device_hours"] == pytest.approx(4 * 80 / 3600)
    assert row["computed_dollars"] is None
    row = _row(directory, dollars_per_device_hour=9.0)
    assert row["computed_dollars"] == pytest.approx(9 * 4 * 80 / 3600)


def test_the_assumed_price_is_that_of_the_accelerator(directory):
    row = _row(directory, accelerator="H100", num_chips=2)
    assert row["assumed_dollars_per_device_hour"] == 3.0
    assert row["computed_dollars"] == pytest.approx(3 * 2 * 80 / 3600)
    rate = row["computed_flops_per_second"]
    assert row["computed_utilisation"] == pytest.approx(rate / (2 * 989e12))


def test_a_cpu_has_no_utilisation_and_counts_as_one_machine(on_a_cpu):
    row = _row(on_a_cpu, dollars_per_device_hour=0.5)
    assert row["measured_devices"].startswith("8 x cpu (")
    assert row["computed_utilisation"] is None
    assert row["computed_flops_per_second"] == pytest.approx(
        row["computed_flops"] * 20 / 1200
    )
    assert row["computed_dollars"] == pytest.approx(0.5 * 80 / 3600)
    report = cost.report_runs([on_a_cpu.root])
    assert "utilisation" not in render(report, "table")


def test_a_run_that_is_not_finished_says_how_long_all_of_it_takes(directory, tmp_path):
    assert _row(directory)["computed_hours"] is None
    other = write_run(tmp_path / "run", tmp_path / "text")
    config = other.read_config()
    config.training.num_steps = 12
    other.config_path.write_text(config.to_json())
    assert _row(other)["computed_hours"] == pytest.approx(3 * 80 / 3600)


def test_hours_on_changing_devices_have_no_sum(directory, tmp_path):
    other = write_run(tmp_path / "run", tmp_path / "text")
    record_hardware(other, 2, {"device_kind": "TPU v5e", "num_devices": 8})
    row = _row(other)
    assert row["measured_devices"] == "4 x TPU v4 from step 0; 8 x TPU v5e from step 2"
    assert row["measured_hours"] and row["computed_device_hours"] is None
    assert _row(other, num_chips=4)["computed_device_hours"] is not None


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_price_is_a_number_of_dollars(directory, price):
    with pytest.raises(UserError, match="--dollars_per_device_hour=.*: expected 0 or"):
        _row(directory, dollars_per_device_hour=price)


def test_an_accelerator_that_is_misspelt_is_answered_with_the_nearest(directory):
    with pytest.raises(UserError, match=r"'h100-pcie' .* Did you mean H100 PCIe\?"):
        _row(directory, accelerator="h100-pcie")
