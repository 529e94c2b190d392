"""Imports point one way, and heavy packages wait until they are needed."""

import ast
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "transformer_jax"

# Each room may import itself and the rooms that it names; entry points, at the top, may
# import everything.
ALLOWED = {
    "errors": set(),
    "files": {"errors"},
    "models": {"errors"},
    "data": {"errors", "files"},
    "sharding": {"errors", "data"},
    "decoding": {"errors", "models", "data"},
    "training": {"errors", "files", "models", "data"},
    "evaluation": {"errors", "models", "data"},
    "run_directory": {"errors", "files", "data", "config"},
    "corpus": {"errors", "files", "data", "run_directory"},
    "command": {"errors"},
    "config_flags": {"errors", "command"},
}
ALLOWED["config"] = {"errors"}
ALLOWED["components"] = {"errors", "models", "data", "training", "decoding"}
ALLOWED["trained_run"] = ALLOWED["components"] | {
    "components",
    "corpus",
    "run_directory",
}
ALLOWED["run_evaluation"] = ALLOWED["trained_run"] | {"trained_run", "evaluation"}
ALLOWED["experiment"] = set(ALLOWED) - {"command", "config_flags", "run_evaluation"}
ALLOWED["visualization"] = set(ALLOWED)
ALLOWED["reports"] = set(ALLOWED) - {"visualization"}
TOP = {"translate", "prepare_data", "__init__"}


def _imported_rooms(path: pathlib.Path) -> set[str]:
    """Return the first folder or file below the package of every import."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "transformer_jax":
            rooms |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "transformer_jax":
                rooms.add(parts[1])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "transformer_jax" and len(parts) > 1:
                    rooms.add(parts[1])
    return rooms


def test_imports_point_only_downwards():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in TOP:
            continue
        assert room in ALLOWED, f"{room} has no place in the order of imports"
        for imported in _imported_rooms(path) - {room}:
            if imported not in ALLOWED[room]:
                wrong.append(f"{path.relative_to(ROOT)} imports {imported}")
    assert not wrong


def test_only_the_rim_knows_config_trees():
    rim = {
        "config_flags.py",
        "components.py",
        "config/checks.py",
        "config/default.py",
        "corpus.py",
        "experiment.py",
        "run_directory.py",
        "run_evaluation.py",
        "trained_run.py",
    }
    knowing = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "ml_collections" in path.read_text()
    }
    assert knowing == rim


def test_heavy_packages_are_imported_where_they_are_used():
    program = (
        "import sys, transformer_jax.experiment, transformer_jax.translate;"
        "heavy = {'tensorflow', 'torch', 'tensorflow_datasets', 'matplotlib'};"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == []
