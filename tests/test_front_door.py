"""What a notebook needs is there by name, and costs nothing until it is used."""

import ast
import importlib
import inspect
import pathlib
import subprocess
import sys

import pytest

import transformer_jax
from tests.tiny_run import tiny_config, write_text

ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_every_name_is_the_one_of_its_own_module():
    assert sorted(transformer_jax.__all__) == sorted(transformer_jax._HOMES)
    for name in transformer_jax.__all__:
        value = getattr(transformer_jax, name)
        home = importlib.import_module(
            f"transformer_jax.{transformer_jax._HOMES[name]}"
        )
        assert value is getattr(home, name)
        assert value.__module__ == home.__name__
        assert inspect.getdoc(value)


def test_names_are_known_to_type_checkers_and_to_completion():
    path = ROOT / "transformer_jax/__init__.py"
    typed = {
        alias.name: node.module
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    homes = {k: f"transformer_jax.{v}" for k, v in transformer_jax._HOMES.items()}
    assert typed == homes
    assert set(transformer_jax.__all__) <= set(dir(transformer_jax))
    assert path.with_name("py.typed").exists()


def test_importing_the_package_imports_nothing_heavy():
    program = (
        "import sys, transformer_jax\n"
        "ours = [m for m in sys.modules if m.startswith('transformer_jax.')]\n"
        "print(ours, 'jax' in sys.modules, 'numpy' in sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True
    )
    assert found.stdout == "[] False False\n"


def test_a_name_that_is_not_there_is_said_with_those_that_are():
    with pytest.raises(AttributeError, match="no 'load_model'.*load_run, .*train"):
        _ = transformer_jax.load_model


def test_a_model_is_trained_and_used_through_the_front_door_alone(tmp_path):
    config = tiny_config(write_text(tmp_path / "text"), num_steps=2)
    assert transformer_jax.train(config, tmp_path / "run") == "finished"
    run = transformer_jax.load_run(tmp_path / "run")
    assert isinstance(run, transformer_jax.TrainedRun)
    translator = run.translator()
    assert isinstance(translator, transformer_jax.Translator)
    assert len(translator.translate(["One.", "Two."])) == 2
    evaluation = transformer_jax.evaluate_run(run)
    assert len(evaluation.hypotheses) == evaluation.scores.num_sentences == 7
    maps = transformer_jax.collect_attention(run, "A dog sleeps.")
    own = translator.translate(["A dog sleeps."])[0].text
    given = transformer_jax.collect_attention(run, "A dog sleeps.", own)
    assert maps.written_pieces == given.written_pieces
    transformer_jax.plot_attention(maps, "cross").savefig(tmp_path / "attention.png")
    for wrong in ("text", None, [None], [b"text"], 3):
        with pytest.raises(TypeError, match="expected a list of"):
            translator.translate(wrong)
