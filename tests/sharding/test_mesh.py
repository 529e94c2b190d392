import jax
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

from tests.training.toy import make_batch
from transformer_jax.errors import UserError
from transformer_jax.sharding.mesh import make_mesh, put_ahead, replicated, shard_batch


def test_a_mesh_has_all_devices_on_an_automatic_data_axis():
    mesh = make_mesh()
    assert dict(mesh.shape) == {"data": len(jax.devices())}
    assert mesh.axis_types == (AxisType.Auto,)
    assert dict(make_mesh(jax.devices()[:3]).shape) == {"data": 3}


def test_each_device_gets_its_rows():
    mesh = make_mesh(jax.devices()[:4])
    batch = make_batch(num_rows=8)
    sharded = shard_batch(batch, mesh)
    for name in ("source_tokens", "loss_weights"):
        array = getattr(sharded, name)
        assert array.sharding.spec == PartitionSpec("data")
        for index, shard in enumerate(array.addressable_shards):
            rows = getattr(batch, name)[2 * index : 2 * index + 2]
            np.testing.assert_array_equal(shard.data, rows)


def test_rows_that_the_devices_do_not_divide_are_refused():
    with pytest.raises(
        UserError, match="8 rows cannot be split evenly over 3 data-para"
    ):
        shard_batch(make_batch(num_rows=8), make_mesh(jax.devices()[:3]))


def test_what_is_replicated_is_whole_everywhere():
    mesh = make_mesh(jax.devices()[:2])
    array = jax.device_put(np.arange(6.0), replicated(mesh))
    assert [shard.data.shape for shard in array.addressable_shards] == [(6,), (6,)]


def test_batches_are_put_one_ahead_and_none_is_lost():
    taken = []

    def batches():
        for seed in range(4):
            taken.append(seed)
            yield make_batch(seed)

    given = put_ahead(batches(), make_mesh(jax.devices()[:2]))
    for seed, batch in enumerate(given):
        expected = make_batch(seed).target_tokens
        np.testing.assert_array_equal(batch.target_tokens, expected)
        assert len(taken) == min(seed + 2, 4)
    assert seed == 3
