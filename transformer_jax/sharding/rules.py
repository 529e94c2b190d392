"""What a parameter's logical axes mean on a mesh; no other file knows."""

from typing import Any

import flax.linen as nn
import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# Logical axis → mesh axis; a logical axis that is not named is not split. So far every
# parameter is whole on every device.
RULES: tuple[tuple[str, str | None], ...] = (("batch", "data"),)


def param_shardings(
    param_axes: Any, mesh: Mesh, rules: tuple[tuple[str, str | None], ...] = RULES
) -> Any:
    """Translate a tree of logical axis names into shardings.

    Args:
      param_axes: tree whose leaves are PartitionSpecs of logical axis names.
      mesh: where the parameters will lie.
      rules: pairs of logical axis and mesh axis; the first that fits counts.
    """

    def sharding(axes: PartitionSpec) -> NamedSharding:
        mesh_axes = nn.logical_to_mesh_axes(tuple(axes), rules)
        return NamedSharding(mesh, mesh_axes or PartitionSpec())

    return jax.tree.map(
        sharding, param_axes, is_leaf=lambda node: isinstance(node, PartitionSpec)
    )
