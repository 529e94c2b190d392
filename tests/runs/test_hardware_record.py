import jax
import pytest

from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.hardware_record import read_hardware, record_hardware
from transformer_jax.sharding.mesh import describe_devices, make_mesh

CPU = {"device_kind": "cpu", "num_devices": 2}
TPU = {"device_kind": "TPU v4", "num_devices": 8}


def test_hardware_is_kept_from_the_step_on_that_it_was_used(tmp_path):
    directory = RunDirectory(tmp_path)
    assert read_hardware(directory) == []
    record_hardware(directory, 0, CPU)
    record_hardware(directory, 100, CPU)
    record_hardware(directory, 200, TPU)
    first, second = read_hardware(directory)
    assert {"from_step": 0, **CPU}.items() <= first.items()
    assert {"from_step": 200, **TPU}.items() <= second.items()
    assert first["processor"] and first["num_logical_cores"] >= 1


def test_hardware_whose_steps_were_lost_is_forgotten(tmp_path):
    directory = RunDirectory(tmp_path)
    record_hardware(directory, 0, CPU)
    record_hardware(directory, 200, TPU)
    record_hardware(directory, 200, CPU)
    (only,) = read_hardware(directory)
    assert {"from_step": 0, **CPU}.items() <= only.items()


def test_devices_are_named_and_counted():
    hardware = describe_devices(make_mesh(jax.devices()[:3]))
    assert hardware["device_kind"] == "cpu"
    assert (hardware["num_devices"], hardware["num_hosts"]) == (3, 1)


@pytest.mark.parametrize("content", ["", "[", "{}", "3", "[3]", '[{"from_step": "0"}]'])
def test_what_is_no_record_is_left_out_with_a_warning(tmp_path, caplog, content):
    path = tmp_path / "hardware.json"
    path.write_text(content)
    assert read_hardware(RunDirectory(tmp_path)) == []
    assert f"{path} is damaged" in caplog.text
