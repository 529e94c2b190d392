import jax
from jax.sharding import PartitionSpec

from transformer_jax.sharding.mesh import make_mesh
from transformer_jax.sharding.rules import param_shardings

AXES = {
    "kernel": PartitionSpec("embed", "mlp"),
    "scale": PartitionSpec("embed"),
    "count": PartitionSpec(),
}


def test_parameters_are_whole_on_every_device():
    shardings = param_shardings(AXES, make_mesh(jax.devices()[:2]))
    assert all(sharding.is_fully_replicated for sharding in shardings.values())


def test_a_rule_splits_the_axis_that_it_names():
    mesh = make_mesh(jax.devices()[:2])
    shardings = param_shardings(AXES, mesh, rules=(("mlp", "data"),))
    assert shardings["kernel"].spec == PartitionSpec(None, "data")
    assert shardings["scale"].is_fully_replicated
