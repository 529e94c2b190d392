"""The options of commands that take a config: --config, and its fields one by one."""

import argparse
import os
import pathlib
import re
import sys
import traceback
from collections.abc import Iterator, Sequence

import ml_collections
from absl import flags
from ml_collections import config_flags

from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.config.names import nearest_field
from transformer_jax.config.tree import all_paths
from transformer_jax.config.versions import RENAMED
from transformer_jax.errors import UserError, did_you_mean
from transformer_jax.files import as_path
from transformer_jax.runs.directory import RunDirectory

_ALL_FIELDS = f"`{PROGRAM} report fields` lists them all."
_FIELDS = f"""Any field of the config can be set beside it, as in
  --config.training.num_steps=4000 --config.optimizer.warmup_steps=400
{_ALL_FIELDS} docs/fields.md has the same list."""

# The file in which a run keeps its config.
_OF_RUN = "config.json"


class _ConfigParser(flags.ArgumentParser):
    """Reads config files, and the config.json of runs; says what is wrong with one."""

    def __init__(self, of_files: flags.ArgumentParser):
        self._of_files = of_files

    def parse(self, path: str) -> ml_collections.ConfigDict:
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
            cause, line = _find_cause(error, file)
            if field := _missing_field(cause, []):
                raise UserError(_explain_field(field) + line) from error
            if isinstance(cause, UserError):
                raise UserError(f"--config={path}: {cause}{line}") from error
            raise UserError(_explain_file(cause, file) + line) from error
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
    if mistake := _find_bare_field(sys.argv[1:]):
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
    flag_values["config"].parser = _ConfigParser(flag_values["config"].parser)
    try:
        surplus = flag_values(arguments)[1:]
    except Exception as error:
        chain = list(_causes(error))
        for cause in chain:
            if isinstance(cause, UserError):
                raise cause from None
        if field := _missing_field(chain[-1], rest):
            raise UserError(_explain_field(field)) from error
        if isinstance(error, flags.Error):
            parser.error(_in_words(str(error).rstrip(".")))
        raise
    if surplus:
        parser.error(f"{' '.join(surplus)!r} belongs to no option")
    return holder.value, options


def _find_bare_field(arguments: Sequence[str]) -> str | None:
    """Return what to say of a field without --config. before it, if there is one."""
    known = list(all_paths())
    for argument in arguments:
        name = argument.partition("=")[0]
        # A run may be called seed=3.
        match = re.match(r"config\.([\w.-]+)$|--?(?!config\.)([\w.-]+)$", name)
        if match is None:
            continue
        path = (match[1] or match[2]).replace("-", "_")
        meant = [f"--config.{f}" for f in known if f".{f}".endswith(f".{path}")]
        if meant:
            return f"there is no {name}. Did you mean {' or '.join(meant)}?"
    return None


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
            raise UserError(_explain_field(path))
        if fields := [field for field in known if field.startswith(f"{path}.")]:
            parser.error(
                f"{argument} sets a section. Set its fields, one by one, as "
                f"--config.{fields[0]}"
            )


def _in_words(message: str) -> str:
    """Say what a number has to be without the names of Python's functions."""
    number = r"invalid literal for int\(\).*|(could not convert string to float).*"
    return re.sub(
        number, lambda m: f"expected a {'' if m[1] else 'whole '}number", message
    )


def _repeated(arguments: Sequence[str]) -> str | None:
    """Return the first field that is given a second time; its first value is lost."""
    found = (re.match(r"--(config\.[\w.]+)", argument) for argument in arguments)
    names = [match[1] for match in found if match]
    return next((name for name in names if names.count(name) > 1), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what it came from, back to what it began with."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _find_cause(error: BaseException, file: pathlib.Path) -> tuple[BaseException, str]:
    """Return what an error began with, and where in the config's file, or "".

    What the file itself met counts, not what its libraries met and took for another.
    """
    found, line = error, ""
    for cause in _causes(error):
        numbers = [
            frame.lineno
            for frame in traceback.extract_tb(cause.__traceback__)
            if _is_same_file(frame.filename, file)
        ]
        if isinstance(cause, SyntaxError) and _is_same_file(cause.filename or "", file):
            numbers.append(cause.lineno)
        if numbers or not line:
            found = cause
        if numbers:
            line = f" In {file}, line {numbers[-1]}."
    return found, line


def _is_same_file(path: str, file: pathlib.Path) -> bool:
    return os.path.abspath(path) == os.path.abspath(file)


def _missing_field(error: BaseException, arguments: Sequence[str]) -> str:
    """Return the field that a config has not; "" if the error is another.

    Args:
      error: of a locked config; it names the last part of the field alone.
      arguments: of the command line, which has the whole of it if it was given there.
    """
    if not isinstance(error, AttributeError | KeyError) or not error.args:
        return ""
    known = set(all_paths())
    given = [argument.lstrip("-").partition("=")[0] for argument in arguments]
    paths = [path.removeprefix("config.") for path in given if "config." in path]
    for path in paths:
        if path not in known:
            return path
    text = str(error.args[0])
    missing = r'\W*Key "([\w.]+)" (?:does not exist|cannot be set)'
    found = re.match(missing + r"|\W+(\w+)\W*(?:\n|\\n|$)", text)
    name = (found[1] or found[2]) if found else ""
    return next((path for path in paths if path.rpartition(".")[2] == name), name)


def _explain_file(error: BaseException, file: pathlib.Path) -> str:
    """Say why the file of --config gave no config."""
    if isinstance(error, ImportError) and "default" in str(error):
        advice = " Say: from transformer_jax.config import default."
    elif isinstance(error, AttributeError) and "'get_config'" in str(error):
        return (
            f"--config={file} cannot be loaded: it has no function get_config. Write "
            "one that returns what default.get_config() gives, with your changes."
        )
    elif isinstance(error, TypeError) and "get_config() takes 0" in str(error):
        advice = " It takes nothing behind a colon: leave that out."
    else:
        advice = ""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return (
        f"--config={file} cannot be loaded: {type(error).__name__}: {message}.{advice}"
    )


def _explain_field(path: str) -> str:
    """Say that there is no such field, and which was meant.

    Args:
      path: of the field, or the last part of it.
    """
    known = list(all_paths())
    if "." in path and path in known:
        return (
            f"the config has no field {path}: it is one of another model or task than "
            "those that the config is made for."
        )
    renamed = [
        f"config.{new}"
        for old, new in RENAMED.items()
        if path in (old, old.rpartition(".")[2])
    ]
    if renamed:
        names = " or ".join(renamed)
        return f"the config has no field {path}; it is called {names} now."
    sections = {field.rpartition(".")[0] for field in known} - {""}
    nearest = nearest_field(path, [*known, *sorted(sections)])
    hint = f"Did you mean config.{nearest}?" if nearest else _ALL_FIELDS
    return f"the config has no field {path}. {hint}"
