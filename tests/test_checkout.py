"""What git keeps is all that there is."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_git_ignores_no_source():
    """Ignored, a file is missing from every clone, and ruff passes over it."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a checkout")
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--ignored", "--exclude-standard"]
        + ["--", "transformer_jax", "tests", "configs", "benchmarks", "docs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    ignored = listing.stdout.splitlines()
    assert not [path for path in ignored if not path.endswith(".pyc")]
