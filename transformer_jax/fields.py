"""A field of a config, declared once: default, meaning, range, and may it change?

A frozen dataclass declares fields where they act:

    @dataclasses.dataclass(frozen=True)
    class Settings:
        num_layers: int = fixed(6, "N, layers of a stack", least=1)
        num_threads: int = free(2, "threads that tokenise", least=1)

The config's tree, its checks, what a resumed run may change, and the list of all fields
in docs/ follow from that.
"""

import dataclasses
import math
import numbers
import types
import typing
from collections.abc import Collection, Mapping
from typing import Any

from transformer_jax.errors import UserError, did_you_mean

_KEY = "declaration"
_AS_DEFAULT = object()
# What a whole number has to fit into: random keys, and JSON that others read.
_BITS = 64
_TYPES = {
    bool: "True or False",
    int: f"a whole number of {_BITS} bits",
    float: "a finite number",
    str: "text",
}


@dataclasses.dataclass(frozen=True)
class Declaration:
    """What a field means and may be.

    Attributes:
      meaning: in a few words, with the unit; the section of the paper where it has one.
      is_free: whether a run may go on with another value: it changes where, how fast or
        how long the run goes and how it is looked at, but not what an update does.
      least: the smallest value; None for no such bound.
      above: what every value is larger than; None likewise.
      below: what every value is smaller than; None likewise.
      choices: all values there are; None where others are possible.
      is_several: whether a value is any number of the choices, with commas between.
      before: what runs did that are older than the field.
    """

    meaning: str
    is_free: bool
    least: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Collection[str] | None = None
    is_several: bool = False
    before: Any = _AS_DEFAULT


@dataclasses.dataclass(frozen=True)
class Field(Declaration):
    """A declaration together with what the dataclass says: name, type and default.

    Attributes:
      name: of the field.
      type: of its values; where they may be None, of the others.
      default: the value that it has unless a config says otherwise.
    """

    name: str = dataclasses.field(kw_only=True)
    type: type = dataclasses.field(kw_only=True)
    default: Any = dataclasses.field(kw_only=True)

    def describe_range(self) -> str:
        """Return in words what the field may be, or "" if it may be anything."""
        if self.choices is not None:
            number = "any" if self.is_several else "one"
            return f"{number} of {', '.join(self.choices)}"
        bounds = (
            ("at least", self.least),
            ("above", self.above),
            ("below", self.below),
        )
        words = [f"{word} {bound}" for word, bound in bounds if bound is not None]
        return " and ".join(words)

    def check_type(self, value: Any, name: str) -> None:
        """Make sure that a value is of the field's type, whatever its range.

        Args:
          value: of the field; None where the field is optional.
          name: what to call the field.

        Raises:
          UserError: says the name, the value and what was expected.
        """
        if (value is None and self.default is None) or _has_type(value, self.type):
            return
        expected = _TYPES.get(self.type, self.type.__name__)
        words = self.describe_range()
        raise UserError(
            f"{name}={value!r}: expected {expected}{words and f', {words}'}."
        )

    def check(self, value: Any, name: str) -> None:
        """Make sure that a value is one that the field may have.

        Args:
          value: of the field; None where the field is optional.
          name: what to call the field.

        Raises:
          UserError: says the name, the value and what was expected.
        """
        self.check_type(value, name)
        if value is None:
            return
        if self.choices is not None:
            given = split_names(value) if self.is_several else [value]
            unknown = [name for name in given if name not in self.choices]
            if not unknown:
                return
            hint = did_you_mean(str(unknown[0]), self.choices)
            raise UserError(
                f"{name}={value!r}: expected {self.describe_range()}.{hint}"
            )
        if not (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        ):
            raise UserError(f"{name}={value!r}: expected {self.describe_range()}.")


def _has_type(value: Any, kind: type) -> bool:
    """Tell whether a value is of a type of fields; True is no number, 1 no truth."""
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is int:
        limit = 1 << (_BITS - 1)
        return isinstance(value, numbers.Integral) and -limit <= int(value) < limit
    if kind is float:
        return isinstance(value, numbers.Real) and math.isfinite(value)
    return isinstance(value, kind)


def fixed(default: Any, meaning: str, **limits: Any) -> Any:
    """Declare a field that decides what an update does; see `Declaration`."""
    return _declare(default, Declaration(meaning, is_free=False, **limits))


def free(default: Any, meaning: str, **limits: Any) -> Any:
    """Declare a field that may change when a run is resumed; see `Declaration`."""
    return _declare(default, Declaration(meaning, is_free=True, **limits))


def _declare(default: Any, declaration: Declaration) -> Any:
    return dataclasses.field(default=default, metadata={_KEY: declaration})


def declared(settings: type) -> dict[str, Field]:
    """Return the fields that a dataclass declares, by name.

    A `Literal` in the type gives the choices; "int | None" makes the field optional.
    """
    hints = typing.get_type_hints(settings)
    fields = {}
    for field in dataclasses.fields(settings):
        if _KEY not in field.metadata:
            continue
        declaration: Declaration = field.metadata[_KEY]
        kind, choices = _read_hint(hints[field.name])
        before = declaration.before
        fields[field.name] = Field(
            **vars(declaration)
            | {
                "choices": choices if choices else declaration.choices,
                "before": field.default if before is _AS_DEFAULT else before,
            },
            name=field.name,
            type=kind,
            default=field.default,
        )
    return fields


def split_names(value: str) -> list[str]:
    """Return the names that a field of several choices lists, each once."""
    names = (name.strip() for name in value.split(","))
    return list(dict.fromkeys(name for name in names if name))


def check_declared(settings: Any) -> None:
    """Check each declared field of a dataclass's instance by itself.

    Raises:
      UserError: names the first that is out of its range.
    """
    for name, field in declared(type(settings)).items():
        field.check(getattr(settings, name), name)


def from_mapping(settings: type, values: Mapping[str, Any], **given: Any) -> Any:
    """Make a dataclass of its declared fields in `values` and of what is `given`."""
    return settings(**{name: values[name] for name in declared(settings)}, **given)


def _read_hint(hint: Any) -> tuple[type, tuple[str, ...] | None]:
    """Return a type's class, and its choices if it is a `Literal`."""
    if isinstance(hint, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is typing.Literal:
        return str, typing.get_args(hint)
    return hint, None
