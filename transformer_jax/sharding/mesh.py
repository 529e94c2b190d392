"""Devices in a mesh, and batches on it."""

import collections
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from transformer_jax.errors import UserError

DATA_AXIS = "data"


def choose_devices(data: int = 0) -> list[jax.Device]:
    """Return the devices that share the rows of a batch.

    Args:
      data: how many; 0: all there are.

    Raises:
      UserError: if there are fewer.
    """
    devices = jax.devices()
    if data > len(devices):
        raise UserError(
            f"data={data}, but there are {len(devices)} devices. Use 0 for all of them."
        )
    return devices[: data or None]


def make_mesh(devices: Sequence[jax.Device] | None = None) -> Mesh:
    """Line up devices, all there are by default, along the data axis."""
    devices = jax.devices() if devices is None else devices
    # Auto: the compiler spreads the shardings of arguments over the program.
    return Mesh(np.array(devices), (DATA_AXIS,), axis_types=(AxisType.Auto,))


def describe_devices(mesh: Mesh) -> dict[str, Any]:
    """Return what a mesh is made of: kind and number of devices, and of hosts."""
    devices = mesh.devices.flatten().tolist()
    return {
        "device_kind": devices[0].device_kind,
        "num_devices": len(devices),
        "num_hosts": len({device.process_index for device in devices}),
    }


def replicated(mesh: Mesh) -> NamedSharding:
    """The sharding of what every device holds whole."""
    return NamedSharding(mesh, PartitionSpec())


def batch_sharding(mesh: Mesh) -> NamedSharding:
    """The sharding of arrays [batch, ...]: rows split over the data axis."""
    return NamedSharding(mesh, PartitionSpec(DATA_AXIS))


def with_whole_axis(sharding: NamedSharding) -> NamedSharding:
    """The same with an axis before the others, which every device holds whole."""
    return NamedSharding(sharding.mesh, PartitionSpec(None, *sharding.spec))


def placed_shape(leaf: Any, sharding: jax.sharding.Sharding) -> jax.ShapeDtypeStruct:
    """Return shape and type of an array, or of its shape, and where it is to lie."""
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)


def placed_shapes(tree: Any, sharding: jax.sharding.Sharding) -> Any:
    """Return `placed_shape` of every leaf, all with one sharding."""
    return jax.tree.map(lambda leaf: placed_shape(leaf, sharding), tree)


def shard_batch(batch: Any, mesh: Mesh) -> Any:
    """Put a batch on the mesh, its rows split over the data axis.

    Args:
      batch: a pytree of arrays [rows, ...].
      mesh: with a data axis.

    Raises:
      UserError: if the rows cannot be split evenly.
    """
    num_rows = jax.tree.leaves(batch)[0].shape[0]
    num_shards = mesh.shape[DATA_AXIS]
    if num_rows % num_shards:
        raise UserError(
            f"A batch of {num_rows} rows cannot be split evenly over {num_shards} "
            "data-parallel devices. Use batches whose rows are a multiple of "
            f"{num_shards}, or a number of devices that divides {num_rows}."
        )
    return jax.device_put(batch, batch_sharding(mesh))


def put_ahead(batches: Iterable[Any], mesh: Mesh, num_ahead: int = 1) -> Iterator[Any]:
    """Yield `batches` on the mesh, each sent before the one ahead of it is used."""
    waiting: collections.deque[Any] = collections.deque()
    for batch in batches:
        waiting.append(shard_batch(batch, mesh))
        if len(waiting) > num_ahead:
            yield waiting.popleft()
    yield from waiting
