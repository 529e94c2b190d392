import ast
import importlib.metadata
import importlib.util
import os
import pathlib

import pytest

from transformer_jax.data.sources.tfds_without_tensorflow import (
    PATCHED_MODULES,
    STAND_IN,
    TFDS_VERSION,
)


def _uses_of_tensorflow(module: str) -> set[str]:
    """Return the dotted names below `tf` in a module's source."""
    package, *inner = module.split(".")
    spec = importlib.util.find_spec(package)
    path = pathlib.Path(spec.submodule_search_locations[0], *inner).with_suffix(".py")
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if name.startswith("tf."):
            names.add(name)
    return names


def test_tfds_is_the_version_that_the_stand_in_was_written_for():
    version = importlib.metadata.version("tensorflow-datasets")
    assert tuple(map(int, version.split(".")[:2])) == TFDS_VERSION


def test_the_stand_in_has_all_that_the_two_modules_ask_tensorflow_for():
    for module in PATCHED_MODULES:
        names = _uses_of_tensorflow(module)
        assert names
        for name in names:
            found = STAND_IN
            for part in name.split(".")[1:]:
                found = getattr(found, part)


def test_files_open_past_the_soft_limit(tmp_path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    num_open = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc") else 100
    if hard != resource.RLIM_INFINITY and hard < num_open + 100:
        pytest.skip("the hard limit leaves no room")
    resource.setrlimit(resource.RLIMIT_NOFILE, (num_open + 10, hard))
    files = []
    try:
        for number in range(40):
            files.append(STAND_IN.io.gfile.GFile(tmp_path / str(number), "wb"))
    finally:
        for file in files:
            file.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(files) == 40
