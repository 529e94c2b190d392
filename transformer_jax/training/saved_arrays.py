"""The arrays in a folder that Orbax wrote: what they are, and reading them."""

import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import jax
import orbax.checkpoint as ocp

from transformer_jax.errors import UserError
from transformer_jax.training.step_folders import read_note


def check_directory(directory: str | os.PathLike[str]) -> None:
    r"""Refuse a run's folder whose path Orbax takes for a pattern.

    What it would write under a path with a pair of square brackets, or a backslash,
    could not be read again.

    Raises:
      UserError: names the path.
    """
    path = str(pathlib.Path(directory).absolute())
    if re.search(r"\\|\[[^/]*\]", path):
        raise UserError(
            f"{path} has square brackets or a backslash in its name, with which "
            "checkpoints cannot be written. Give a --workdir without them."
        )


def describe_arrays(tree: Any) -> dict[str, str]:
    """Return each array's path with its type and shape."""
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): _describe_array(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def check_written(
    saver: ocp.StandardCheckpointer, folder: pathlib.Path, arrays: Mapping[str, str]
) -> None:
    """Read back what Orbax says of a folder, and compare it with what was to be saved.

    Args:
      saver: that wrote it.
      folder: a step's.
      arrays: as `describe_arrays` describes them.

    Raises:
      UserError: if they cannot be read, or are others.
    """
    metadata = saver.metadata(folder).item_metadata
    leaves = [] if metadata is None else jax.tree.leaves(metadata.tree)
    if sorted(_describe_array(leaf) for leaf in leaves) != sorted(arrays.values()):
        raise UserError(
            f"{folder} was written, but its arrays cannot be read back. Train into "
            "another --workdir, on another disk; earlier checkpoints are untouched."
        )


def _describe_array(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def read_arrays(
    saver: ocp.StandardCheckpointer, folder: pathlib.Path, abstract: Any
) -> Any:
    """Read a folder into the shapes, types and shardings of `abstract`."""
    saved, wanted = read_note(folder)["arrays"], describe_arrays(abstract)
    for name in sorted(saved.keys() | wanted.keys()):
        on_disk, in_model = (tree.get(name, "missing") for tree in (saved, wanted))
        if on_disk != in_model:
            raise UserError(
                f"{folder} does not fit this model: {name} is {on_disk} on disk and "
                f"{in_model} in the model. Use the config that it was trained with."
            )
    return saver.restore(folder, jax.tree.map(_as_abstract, abstract))


def _as_abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    """Return a leaf's shape, type and sharding, by default on one device."""
    sharding = getattr(leaf, "sharding", None)
    if sharding is None:
        sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)
