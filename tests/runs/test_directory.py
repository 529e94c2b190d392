import jax

from transformer_jax.config import default
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.sharding.mesh import describe_devices, make_mesh

CPU = {"device_kind": "cpu", "num_devices": 2}
TPU = {"device_kind": "TPU v4", "num_devices": 8}


def test_hardware_is_kept_from_the_step_on_that_it_was_used(tmp_path):
    directory = RunDirectory(tmp_path)
    assert directory.read_hardware() == []
    directory.record_hardware(0, CPU)
    directory.record_hardware(100, CPU)
    directory.record_hardware(200, TPU)
    first, second = directory.read_hardware()
    assert {"from_step": 0, **CPU}.items() <= first.items()
    assert {"from_step": 200, **TPU}.items() <= second.items()
    assert first["processor"] and first["num_logical_cores"] >= 1


def test_hardware_whose_steps_were_lost_is_forgotten(tmp_path):
    directory = RunDirectory(tmp_path)
    directory.record_hardware(0, CPU)
    directory.record_hardware(200, TPU)
    directory.record_hardware(200, CPU)
    (only,) = directory.read_hardware()
    assert {"from_step": 0, **CPU}.items() <= only.items()


def test_devices_are_named_and_counted():
    hardware = describe_devices(make_mesh(jax.devices()[:3]))
    assert hardware["device_kind"] == "cpu"
    assert (hardware["num_devices"], hardware["num_hosts"]) == (3, 1)


def test_what_was_prepared_and_never_trained_with_is_made_anew(tmp_path):
    """The text of any split that a source had, and of no other file's name."""
    directory = RunDirectory(tmp_path)
    sides = ("source", "target")
    directory.claim(default.get_config(), sides)
    directory.write_split("dev2", [("old", "alt")], sides)
    directory.write_split("test", [("old", "alt")], sides)
    (tmp_path / "text/notes.txt").write_text("mine")
    directory.claim(default.get_config(), sides)
    assert [path.name for path in directory.text.iterdir()] == ["notes.txt"]
    directory.write_split("dev2", [("new", "neu"), ("", "leer")], sides)
    assert directory.read_split("dev2") == (["new", ""], ["neu", "leer"])
