"""How every command reads its options: help on one screen, a mistake in one line."""

import argparse
import functools
import re
import shutil
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from transformer_jax.commands.messages import EXIT_USAGE
from transformer_jax.errors import did_you_mean
from transformer_jax.text_table import WIDTH

PROGRAM = "python -m transformer_jax"


class _StoreOnce(argparse.Action):
    """Store a value, as by default, but only one."""

    _given: str | Sequence[Any] | None = None

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        if self._given is not None:
            parser.error(
                f"{option_string} is given twice: {self._given} and {values}. Give it "
                "once"
            )
        if values == "":
            parser.error(
                f"{option_string} is empty, as from a shell's variable that is not "
                "set. Give a value"
            )
        self._given = values
        setattr(namespace, self.dest, values)


class CommandParser(argparse.ArgumentParser):
    """Reads a command's options, each at most once, with - or _ between its words.

    Whatever is wrong ends in one line and with 2.
    """

    def __init__(self, *, takes_fields: bool = False, **settings: Any) -> None:
        """Make a parser.

        Args:
          takes_fields: whether --config.FIELD=VALUE may be given; left to others.
          settings: those of any parser.
        """
        columns = min(WIDTH, shutil.get_terminal_size().columns)
        formatter = functools.partial(
            argparse.RawDescriptionHelpFormatter, width=columns, max_help_position=30
        )
        super().__init__(formatter_class=formatter, **settings)
        self._takes_fields = takes_fields
        self.register("action", None, _StoreOnce)

    def parse_known_args(
        self, args: Any = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Return options, and what belongs to fields; nothing else is left over."""
        given = [*map(_with_underscores, sys.argv[1:] if args is None else args)]
        if self._subparsers is None:  # Else the options are those of the sub-command.
            self._check_names(given)
        elif given and given[0].startswith("--") and given[0] != "--help":
            usage = str(self.usage).replace("%(prog)s", self.prog)
            self.error(f"{given[0]} comes too early; expected: {usage}")
        options, rest = super().parse_known_args(given, namespace)
        if rest and not self._takes_fields:
            self.error(f"{rest[0]!r} belongs to no option")
        return options, rest

    def error(self, message: str) -> NoReturn:
        name = self.prog.removeprefix(f"{PROGRAM} ")
        end = "" if message[-1] in "?." else "."
        print(f"{name}: {message}{end} See {self.prog} --help", file=sys.stderr)
        sys.exit(EXIT_USAGE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is no choice, with the nearest one."""
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(
                action,
                f"there is no {value!r}.{did_you_mean(str(value), names)} "
                f"The choices are {', '.join(names)}",
            )

    def _check_names(self, arguments: Sequence[str]) -> None:
        """Refuse an option that there is not, before asking for one that is missing."""
        names = [name for action in self._actions for name in action.option_strings]
        for argument in arguments:
            given = argument.partition("=")[0]
            is_field = self._takes_fields and given.startswith("--config.")
            is_option = re.match("--[A-Za-z]", given) is not None and not is_field
            if is_option and not any(name.startswith(given) for name in names):
                self.error(f"there is no {given}.{did_you_mean(given, names)}")


def _with_underscores(argument: str) -> str:
    """Write an option's name as it is declared: --beam-size and -beam_size too."""
    return re.sub(
        r"^--?([A-Za-z][\w.-]+)", lambda m: "--" + m[1].replace("-", "_"), argument
    )
