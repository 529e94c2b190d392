"""Imports point one way, and heavy packages wait until they are needed."""

import ast
import pathlib
import re
import subprocess
import sys

from transformer_jax.models import MODELS
from transformer_jax.tasks import TASKS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "transformer_jax"

# From the ground up: each room may import itself and what it names, nothing else.
ALLOWED = {
    "errors": set(),
    "files": {"errors"},
    "fields": {"errors"},
    "text_table": set(),
    "language_codes": {"errors"},
    "sharding": {"errors"},
    "grammar": set(),
    "data": {"errors", "files", "fields", "text_table", "language_codes", "grammar"},
    "models": {"errors", "fields"},
    "exchange": {"errors", "files", "models"},
    "costs": {"errors", "models"},
    "decoding": {"errors", "data", "models"},
    "evaluation": {"errors", "files", "text_table", "language_codes", "grammar"},
    "training": {"errors", "files", "models", "evaluation"},
    "tasks": {"errors", "data", "models", "decoding", "evaluation", "training"},
    "config": {
        "errors",
        "language_codes",
        "fields",
        "data",
        "models",
        "decoding",
        "training",
        "tasks",
    },
    "runs": {
        "errors",
        "language_codes",
        "files",
        "fields",
        "sharding",
        "grammar",
        "data",
        "models",
        "exchange",
        "decoding",
        "evaluation",
        "training",
        "tasks",
        "config",
    },
    # A run says where its metrics are, and reads them.
    "visualization": {"errors", "files", "models", "runs"},
    "reports": {
        "errors",
        "language_codes",
        "files",
        "fields",
        "text_table",
        "data",
        "models",
        "costs",
        "evaluation",
        "training",
        "tasks",
        "config",
        "runs",
        "visualization",
    },
    "studies": {
        "errors",
        "language_codes",
        "files",
        "grammar",
        "data",
        "models",
        "exchange",
        "costs",
        "training",
        "evaluation",
        "config",
        "runs",
        "reports",
        "visualization",
    },
    "commands": {
        "errors",
        "fields",
        "language_codes",
        "files",
        "text_table",
        "data",
        "models",
        "decoding",
        "evaluation",
        "config",
        "runs",
        "visualization",
        "reports",
        "studies",
    },
    # What a notebook starts with, by name alone.
    "front door": {"config", "decoding", "models", "runs", "visualization"},
    # What Python starts: a command, or a hint which one was meant.
    "entry points": {"commands", "errors"},
}


ENTRY_POINTS = {"__main__.py", "translate.py", "prepare_data.py"}


def _room(path: pathlib.Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    if path.name == "__main__.py" or parts[0] in ENTRY_POINTS:
        return "entry points"
    if len(parts) == 1 and path.name == "__init__.py":
        return "front door"
    return parts[0].removesuffix(".py")


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


# What a new file of a room may import beside that, though none does today.
SPARE = {"tasks": {"errors", "fields"}}


def test_each_room_imports_just_what_the_order_names():
    """Nothing more, nor less: else the order would loosen unseen, as code moves."""
    imported: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        room = _room(path)
        imported.setdefault(room, set()).update(_imported_rooms(path) - {room})
    for room, spare in SPARE.items():
        imported[room] -= spare - ALLOWED[room]
    assert imported == ALLOWED


def test_the_order_points_only_downwards():
    below: set[str] = set()
    for room, rooms in ALLOWED.items():
        assert rooms <= below, f"{room} would import what stands above it"
        below.add(room)


def test_only_the_rim_knows_config_trees():
    rim = {
        "commands/config_flags.py",
        "commands/prepare.py",
        "commands/train.py",
        "config/checks.py",
        "config/default.py",
        "config/tree.py",
        "config/versions.py",
        "runs/components.py",
        "runs/corpus.py",
        "runs/directory.py",
        "runs/experiment.py",
        "runs/joint_tokenizer.py",
        "runs/run_evaluation.py",
        "runs/starting_point.py",
        "runs/text.py",
        "runs/trained_run.py",
        "studies/bench.py",
        "studies/fine_tuning.py",
        "studies/heads.py",
        "studies/long_dependencies.py",
        "studies/order.py",
        "studies/real_weights.py",
        "studies/scaling.py",
        "studies/short_training.py",
        "studies/starts.py",
        "studies/transfer.py",
        "studies/translation_runs.py",
    }
    knowing = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "ml_collections" in path.read_text()
    }
    assert knowing == rim


def test_loop_step_checkpoints_and_sharding_have_no_line_about_a_model_or_a_task():
    names = (MODELS.keys() | TASKS.keys()) - {"transformer"}
    named = re.compile(rf"\b({'|'.join(names)})\b", re.IGNORECASE)
    for room in ("training", "sharding"):
        for path in (PACKAGE / room).rglob("*.py"):
            assert not named.search(path.read_text(encoding="utf-8")), path


def test_heavy_packages_are_imported_where_they_are_used():
    program = (
        "import sys;"
        "from transformer_jax.commands import evaluate, train, translate;"
        "heavy = {'tensorflow', 'torch', 'tensorflow_datasets', 'matplotlib'}"
        " | {'wandb', 'mlflow', 'safetensors', 'sacremoses'};"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == []
