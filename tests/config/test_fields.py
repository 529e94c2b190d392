"""Every field is declared once, and leads to where it acts."""

import ast
import dataclasses
import pathlib
from typing import Literal

import pytest

from transformer_jax import fields
from transformer_jax.config import default
from transformer_jax.config.names import nearest_field
from transformer_jax.config.tree import all_paths, fields_of, leaves
from transformer_jax.errors import UserError
from transformer_jax.fields import (
    check_declared,
    declared,
    fixed,
    free,
    from_mapping,
    split_names,
)

PACKAGE = pathlib.Path(fields.__file__).parent
FIELDS = fields_of("transformer", "translation")
# Joined from a split and a side, in data/sources/text_files.py.
_JOINED = {
    f"{split}_{side}"
    for split in ("train", "validation", "test")
    for side in ("source", "target")
}
# Chooses what is built, and ends there.
_ABOVE = ("config", "runs", "reports", "visualization", "commands")
_CHOICES = {
    "data.source",
    "data.batching",
    "model.name",
    "task.name",
    "training.trackers",
}


@dataclasses.dataclass(frozen=True)
class Example:
    given: int
    size: int = fixed(3, "a size", least=2)
    share: float = free(0.5, "a share", least=0, below=1)
    kind: Literal["a", "bc"] = fixed("a", "a kind", before="bc")
    name: str | None = free(None, "a name")
    epsilon: float = fixed(1e-6, "above nothing", above=0)
    several: str = free("", "some", choices=("a", "bc"), is_several=True)


def _names_below_the_rim() -> set[str]:
    """Return parameters and attributes that code below `runs/` reads or takes."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in (
            "config",
            "runs",
            "commands",
            "reports",
        ):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
    return names


def test_the_name_of_a_field_is_that_of_the_parameter_that_it_ends_in():
    acting = _names_below_the_rim() | _JOINED
    # Read where a run is made, trained or saved: see runs/.
    at_the_rim = {
        "seed",
        "cache_directory",
        "tokenizer_path",
        "init_from",
        "layer_scan",
        "source_language",
        "target_language",
    }
    lost = [
        path
        for path in FIELDS
        if path not in _CHOICES and path.rpartition(".")[2] not in acting | at_the_rim
    ]
    assert not lost


def test_the_default_config_has_every_field_with_its_default():
    tree = dict(leaves(default.get_config()))
    assert tree.pop("version") == 2
    assert tree == {path: field.default for path, field in FIELDS.items()}


@pytest.mark.parametrize("path", FIELDS)
def test_a_default_is_in_its_own_range_and_has_a_meaning(path):
    field = FIELDS[path]
    field.check(field.default, path)
    assert field.meaning and not field.meaning.endswith(".")
    assert field.default is None or isinstance(field.default, field.type)


def test_a_declaration_says_what_the_dataclass_and_its_limits_say():
    found = declared(Example)
    assert list(found) == ["size", "share", "kind", "name", "epsilon", "several"]
    free_ones = [name for name, field in found.items() if field.is_free]
    assert free_ones == ["share", "name", "several"]
    assert found["kind"].choices == ("a", "bc")
    assert (found["kind"].before, found["size"].before) == ("bc", 3)
    assert (found["name"].type, found["name"].default) == (str, None)
    assert [field.describe_range() for field in found.values()] == [
        "at least 2",
        "at least 0 and below 1",
        "one of a, bc",
        "",
        "above 0",
        "any of a, bc",
    ]
    assert from_mapping(Example, vars(Example(0)), given=7) == Example(7)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 1}, "size=1: expected at least 2."),
        ({"share": 1.0}, "share=1.0: expected at least 0 and below 1."),
        ({"share": float("nan")}, "share=nan: expected a finite number, at least 0"),
        ({"share": "half"}, "share='half': expected a finite number, at least 0"),
        ({"epsilon": 0.0}, "epsilon=0.0: expected above 0."),
        ({"kind": "b"}, "kind='b': expected one of a, bc. Did you mean bc?"),
        ({"kind": 7}, "kind=7: expected text, one of a, bc."),
        ({"several": "a,b"}, "several='a,b': expected any of a, bc. Did you mean bc?"),
        ({"several": ("a", "bc")}, "several=('a', 'bc'): expected text, any of a, bc."),
    ],
)
def test_a_value_out_of_range_is_refused_with_what_was_expected(changes, message):
    with pytest.raises(UserError) as error:
        check_declared(Example(0, **changes))
    assert str(error.value).startswith(message)


def test_values_at_the_ends_of_a_range_are_in_it():
    check_declared(Example(0, size=2, share=0, kind="bc", name="x", epsilon=1e-30))
    check_declared(Example(0, several="bc, a,"))
    assert split_names("bc, a,bc,") == ["bc", "a"]


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("model.num_layer", "model.num_encoder_layers"),
        ("model.warmup_steps", "optimizer.warmup_steps"),
        ("optimizer.num_step", "optimizer.num_steps"),
        ("training.num_step", "training.num_steps"),
        ("dropout", "model.dropout_rate"),
        ("data.tfds.nam", "data.tfds.name"),
        ("nothing_like_it_at_all", None),
    ],
)
def test_an_unknown_field_has_a_nearest_one(path, nearest):
    assert nearest_field(path, all_paths("transformer")) == nearest
