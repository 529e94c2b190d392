"""What a declared field takes and what it refuses, by its type and its range."""

import dataclasses
import math
import re
from typing import Literal

import numpy as np
import pytest

from transformer_jax.errors import UserError
from transformer_jax.fields import check_declared, declared, fixed, free


@dataclasses.dataclass(frozen=True)
class Settings:
    count: int = fixed(3, "a number of things", least=2)
    anything: int = fixed(0, "a number")
    share: float = fixed(0.5, "of a whole", least=0, below=1)
    exponent: float = free(1.0, "any number")
    is_on: bool = fixed(False, "a switch")
    folder: str = free("", "a place")
    kind: Literal["one", "other"] = fixed("one", "which")
    depth: int | None = fixed(None, "a number, or worked out", least=1)
    undeclared: int = 7


@pytest.mark.parametrize(
    "values",
    [
        {"count": 2, "anything": -5, "share": 0, "exponent": -3, "depth": None},
        {"count": np.int64(9), "share": np.float32(0.25), "depth": 1},
        {"anything": 2**63 - 1, "exponent": 1e300, "is_on": True, "kind": "other"},
        {"anything": -(2**63), "folder": "a b", "undeclared": None},
    ],
    ids=str,
)
def test_values_of_the_type_and_in_the_range_are_taken(values):
    check_declared(Settings(**values))


_WHOLE = "a whole number of 64 bits"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("count", 1, "at least 2"),
        ("count", None, f"{_WHOLE}, at least 2"),
        ("count", 2.0, f"{_WHOLE}, at least 2"),
        ("count", True, f"{_WHOLE}, at least 2"),
        ("count", "3", f"{_WHOLE}, at least 2"),
        ("anything", 2**63, _WHOLE),
        ("anything", None, _WHOLE),
        ("share", 1, "at least 0 and below 1"),
        ("share", math.nan, "a finite number, at least 0 and below 1"),
        ("share", False, "a finite number, at least 0 and below 1"),
        ("exponent", math.nan, "a finite number"),
        ("exponent", -math.inf, "a finite number"),
        ("exponent", None, "a finite number"),
        ("is_on", 1, "True or False"),
        ("is_on", None, "True or False"),
        ("folder", None, "text"),
        ("folder", 3, "text"),
        ("kind", None, "text, one of one, other"),
        ("kind", "othr", "one of one, other. Did you mean other?"),
        ("kind", ["one"], "text, one of one, other"),
        ("depth", 0, "at least 1"),
        ("depth", 1.5, f"{_WHOLE}, at least 1"),
    ],
)
def test_any_other_value_is_refused_with_what_was_expected(name, value, expected):
    message = re.escape(f"{name}={value!r}: expected {expected}")
    with pytest.raises(UserError, match=rf"^{message}\.?$"):
        check_declared(Settings(**{name: value}))


def test_the_type_alone_can_be_checked():
    field = declared(Settings)["count"]
    field.check_type(1, "count")
    with pytest.raises(UserError, match="count=1: expected at least 2"):
        field.check(1, "count")
