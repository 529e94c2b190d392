"""The options of commands that take a config: --config, and its fields one by one."""

import argparse
import itertools
import re
import sys
from collections.abc import Sequence

import ml_collections
from absl import flags
from ml_collections import config_flags

from transformer_jax.commands.config_mistakes import (
    ALL_FIELDS,
    causes,
    explain_field,
    explain_file,
    find_bare_field,
    find_cause,
    in_words,
    missing_field,
    model_in,
)
from transformer_jax.commands.parser import CommandParser
from transformer_jax.config.default import with_model
from transformer_jax.config.tree import all_paths
from transformer_jax.errors import UserError, did_you_mean
from transformer_jax.files import as_path
from transformer_jax.runs.directory import RunDirectory

_FIELDS = f"""Any field of the config can be set beside it, as in
  --config.training.num_steps=4000 --config.optimizer.warmup_steps=400
{ALL_FIELDS} docs/fields.md has the same list."""

# The file in which a run keeps its config.
_OF_RUN = "config.json"


class _ConfigParser(flags.ArgumentParser):
    """Reads config files, and the config.json of runs; says what is wrong with one.

    Attributes:
      model: a name in `MODELS`, for another model than the file's; None: the file's,
        whose name it is once that is read.
    """

    def __init__(self, of_files: flags.ArgumentParser, model: str | None):
        self._of_files, self.model = of_files, model

    def parse(self, path: str) -> ml_collections.ConfigDict:
        """Return the config that a file gives, for the model that is asked for.

        Raises:
          UserError: with the file's line where it has one.
        """
        config = self._read(path)
        if self.model is not None:
            config = with_model(config, self.model)
        self.model = config.model.name
        return config

    def _read(self, path: str) -> ml_collections.ConfigDict:
        """Return the config that a file gives.

        Raises:
          UserError: with the file's line where it has one.
        """
        name, colon, argument = path.partition(":")
        if as_path(path).exists():
            name, colon, argument = path, "", ""
        file = as_path(name)
        if file.name == _OF_RUN or (file / _OF_RUN).exists():
            return RunDirectory(file if file.is_dir() else file.parent).read_config()
        if ":" in name:
            raise UserError(
                f"--config={name}: a colon ends a config's name, and what follows is "
                "handed to it. Rename the file, or the folder that is called so."
            )
        if not file.is_file():
            beside = [path.name for path in file.parent.glob("*.py")]
            hint = did_you_mean(f"{file.stem}.py", beside)
            raise UserError(
                f"--config={name}: there is no such file.{hint} Give one of the files "
                "of configs/, or your own."
            )
        try:
            config = self._of_files.parse(f"{file}{colon}{argument}")
            is_config = hasattr(config, "version")
        except Exception as error:
            cause, line = find_cause(error, file)
            if field := missing_field(cause, []):
                words = explain_field(field, model_in(cause))
                raise UserError(words + line) from error
            if isinstance(cause, UserError):
                raise UserError(f"--config={path}: {cause}{line}") from error
            raise UserError(explain_file(cause, file) + line) from error
        if not is_config:
            raise UserError(
                f"--config={file} cannot be loaded: its get_config() returns "
                f"{type(config).__name__}, not a config. Return what "
                "default.get_config() gives, with your changes."
            )
        return config


def parse_config(
    parser: CommandParser,
) -> tuple[ml_collections.ConfigDict, argparse.Namespace]:
    """Parse the command line; exits with 2 if it is not well formed.

    Args:
      parser: the command's, which takes fields; it is given --config as well.

    Returns:
      config: that of --config, with the fields that were given.
      options: the command's other options.

    Raises:
      UserError: if the config cannot be loaded or has no such field.
    """
    parser.add_argument(
        "--config",
        required=True,
        metavar="FILE",
        help="a file of configs/ or your own, or RUN/config.json to repeat a run",
    )
    parser.epilog = _FIELDS
    if mistake := find_bare_field(sys.argv[1:]):
        parser.error(mistake)
    options, rest = parser.parse_known_args()
    if name := _repeated(rest):
        parser.error(f"--{name} is given twice. Give it once")
    _check_paths(parser, rest)
    arguments = [sys.argv[0], f"--config={options.config}", *rest]
    flag_values = flags.FlagValues()
    holder = config_flags.DEFINE_config_file(
        "config", flag_values=flag_values, sys_argv=arguments
    )
    config_parser = _ConfigParser(
        flag_values["config"].parser, _value_of("config.model.name", rest)
    )
    flag_values["config"].parser = config_parser
    try:
        surplus = flag_values(arguments)[1:]
    except Exception as error:
        chain = list(causes(error))
        for cause in chain:
            if isinstance(cause, UserError):
                raise cause from None
        if field := missing_field(chain[-1], rest):
            raise UserError(explain_field(field, config_parser.model)) from error
        if isinstance(error, flags.Error):
            parser.error(in_words(str(error).rstrip(".")))
        raise
    if surplus:
        parser.error(f"{' '.join(surplus)!r} belongs to no option")
    return holder.value, options


def _check_paths(parser: CommandParser, arguments: Sequence[str]) -> None:
    """Refuse what is no name of a field, and sections, of which fields are set.

    Raises:
      UserError: with the nearest field.
    """
    known = list(all_paths())
    for argument in arguments:
        if not argument.startswith("--config."):
            continue
        path = argument.partition("=")[0].removeprefix("--config.")
        if not re.fullmatch(r"\w+(\.\w+)*", path):
            raise UserError(explain_field(path))
        if fields := [field for field in known if field.startswith(f"{path}.")]:
            parser.error(
                f"{argument} sets a section. Set its fields, one by one, as "
                f"--config.{fields[0]}"
            )


def _value_of(name: str, arguments: Sequence[str]) -> str | None:
    """Return what a field is given, as --NAME=VALUE or --NAME VALUE, if it is."""
    for argument, following in itertools.zip_longest(arguments, arguments[1:]):
        given, equals, value = argument.partition("=")
        if given == f"--{name}":
            return value if equals else following
    return None


def _repeated(arguments: Sequence[str]) -> str | None:
    """Return the first field that is given a second time; its first value is lost."""
    found = (re.match(r"--(config\.[\w.]+)", argument) for argument in arguments)
    names = [match[1] for match in found if match]
    return next((name for name in names if names.count(name) > 1), None)
