"""The flags of commands that take a config: --config, and its fields one by one."""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import ml_collections
from absl import app, flags
from ml_collections import config_flags

from transformer_jax.commands.messages import EXIT_USAGE
from transformer_jax.config.names import nearest_field
from transformer_jax.config.tree import all_paths
from transformer_jax.config.versions import RENAMED
from transformer_jax.errors import UserError

_ALL_FIELDS = "`python -m transformer_jax report fields` lists them all."

_CONFIG = config_flags.DEFINE_config_file(
    "config", None, "A file of configs/, and --config.FIELD=VALUE for single fields."
)


def parse_config(program: str, usage: str) -> ml_collections.ConfigDict:
    """Parse the command line; exits with 2 if it is not well formed.

    Args:
      program: the command's name, for messages.
      usage: how to call it.

    Returns:
      The config, with the fields that were given.

    Raises:
      UserError: if the config cannot be loaded or has no such field.
    """
    if name := _repeated(sys.argv[1:]):
        _exit_with_usage(program, f"--{name} is given twice. Give it once.", usage)
    app.define_help_flags()
    flags.mark_flag_as_required("config")
    try:
        rest = flags.FLAGS(sys.argv)
        _ = _CONFIG.value.version
    except Exception as error:
        arguments = sys.argv[1:]
        cause, line = _find_cause(error, _file_of(arguments))
        if field := _missing_field(cause, arguments):
            raise UserError(_explain_field(field) + line) from error
        # Without a line: what the file gives back is no config, or it gives none.
        if line or isinstance(cause, OSError | AttributeError):
            raise UserError(_explain_file(cause, arguments) + line) from error
        if isinstance(error, flags.Error):
            _exit_with_usage(program, str(error), usage)
        raise
    if len(rest) > 1:
        message = f"unexpected arguments: {' '.join(rest[1:])}"
        _exit_with_usage(program, message, usage)
    return _CONFIG.value


def _exit_with_usage(program: str, message: str, usage: str) -> NoReturn:
    print(f"{program}: {message}\nUsage: {usage}", file=sys.stderr)
    sys.exit(EXIT_USAGE)


def _repeated(arguments: Sequence[str]) -> str | None:
    """Return the first flag that is given a second time; its first value is lost."""
    found = (re.match(r"--?([A-Za-z][\w.]*)", argument) for argument in arguments)
    names = [match[1] for match in found if match]
    return next((name for name in names if names.count(name) > 1), None)


def _file_of(arguments: Sequence[str]) -> str:
    """Return the file that --config names, or "" if none is."""
    for number, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name in ("--config", "-config"):
            value = value or "".join(arguments[number + 1 : number + 2])
            return value.partition(":")[0]
    return ""


def _find_cause(error: BaseException, file: str) -> tuple[BaseException, str]:
    """Return what an error began with, and where in the config's file, or "".

    What the file itself met counts, not what its libraries met and took for another.
    """
    cause, line = error, ""
    while True:
        numbers = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if _is_same_file(frame.filename, file)
        ]
        if isinstance(error, SyntaxError) and _is_same_file(error.filename or "", file):
            numbers.append(error.lineno)
        if numbers or not line:
            cause = error
        if numbers:
            line = f"\nIn {file}, line {numbers[-1]}."
        earlier = error.__cause__ or error.__context__
        if earlier is None:
            return cause, line
        error = earlier


def _is_same_file(path: str, file: str) -> bool:
    return bool(file) and os.path.abspath(path) == os.path.abspath(file)


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
    found = re.match(missing + r"|\W*(\w+)\W*(?:\n|\\n|$)", text)
    name = (found[1] or found[2]) if found else ""
    return next((path for path in paths if path.rpartition(".")[2] == name), name)


def _explain_file(error: BaseException, arguments: Sequence[str]) -> str:
    """Say why the file of --config gave no config."""
    if isinstance(error, OSError):
        advice = " Give one of the files of configs/, or your own."
    elif isinstance(error, ImportError) and "default" in str(error):
        advice = " Say: from transformer_jax.config import default."
    else:
        advice = ""
    return (
        f"--config={_file_of(arguments)} cannot be loaded.{advice}\n"
        f"{type(error).__name__}: {error}"
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
