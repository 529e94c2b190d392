"""The package is whole without its checkout: it trains as pip would install it."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.tiny_run import grammar_config_file

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Runs a command of the package with nothing of the checkout in reach: neither its
# folder nor what an editable installation put in its place.
_PROGRAM = """
import pathlib, runpy, sys

checkout, target = map(pathlib.Path, sys.argv[1:3])
sys.path = [path for path in sys.path if pathlib.Path(path).resolve() != checkout]
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
sys.argv = ["transformer_jax", *sys.argv[3:]]
runpy.run_module("transformer_jax", run_name="__main__", alter_sys=True)
ours = {
    name: module.__file__
    for name, module in sys.modules.items()
    if name.partition(".")[0] in ("transformer_jax", "configs", "tests")
}
assert "transformer_jax.commands.messages" in ours, sorted(ours)
for name, file in ours.items():
    assert pathlib.Path(file).is_relative_to(target), (name, file)
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with what a wheel of the checkout holds, and nothing else.

    By the step of setuptools that fills a wheel: unlike pip it asks for no network.
    """
    pytest.importorskip("setuptools")
    source = tmp_path_factory.mktemp("source")
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "transformer_jax", source / "transformer_jax")
    for name in ("configs", "tests"):
        shutil.copytree(ROOT / name, source / name)
    target = tmp_path_factory.mktemp("target")
    subprocess.run(
        [sys.executable, "-c", "import setuptools; setuptools.setup()"]
        + ["build_py", "--build-lib", str(target)],
        cwd=source,
        check=True,
        capture_output=True,
    )
    return target


def test_a_wheel_holds_the_package_with_its_tables_and_nothing_else(target):
    assert [path.name for path in target.iterdir()] == ["transformer_jax"]

    def kept(root: pathlib.Path) -> set[pathlib.Path]:
        paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        return {path for path in paths if path.suffix != ".pyc"}

    packaged = kept(target / "transformer_jax")
    assert packaged == kept(ROOT / "transformer_jax")
    assert len([path for path in packaged if path.suffix == ".tsv"]) == 7


@pytest.mark.slow
def test_the_package_trains_and_translates_without_its_checkout(target, tmp_path):
    (tmp_path / "my.py").write_text(grammar_config_file())

    def run(*arguments: str, text: str = "") -> str:
        result = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(ROOT), str(target), *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(target)},
            input=text,
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    run("train", "--config", "my.py", "--workdir", "run")
    assert (tmp_path / "run/metrics.jsonl").is_file()
    lines = run("translate", "--workdir", "run", text="The dog sleeps.\n\nA cat.\n")
    assert len(lines.splitlines()) == 3
    run("evaluate", "--workdir", "run")
    assert list((tmp_path / "run/evaluation").glob("test.*.json"))
    run("report", "card", "--workdirs", "run")
    run("plot", "curves", "--workdir", "run", "--output", "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000
