"""The flags of commands that take a config: --config, and its fields one by one."""

import re
import sys
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

_ALL_FIELDS = "docs/fields.md lists them all."

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
    app.define_help_flags()
    flags.mark_flag_as_required("config")
    try:
        rest = flags.FLAGS(sys.argv)
        _ = _CONFIG.value.version
    except flags.Error as error:
        _exit_with_usage(program, str(error), usage)
    except (AttributeError, KeyError) as error:
        raise UserError(_explain_field(error, sys.argv[1:])) from error
    except OSError as error:
        raise UserError(
            f"--config={flags.FLAGS['config'].value} cannot be loaded. Give one of the "
            f"files of configs/, or your own.\n{error}"
        ) from error
    if len(rest) > 1:
        message = f"unexpected arguments: {' '.join(rest[1:])}"
        _exit_with_usage(program, message, usage)
    return _CONFIG.value


def _exit_with_usage(program: str, message: str, usage: str) -> NoReturn:
    print(f"{program}: {message}\nUsage: {usage}", file=sys.stderr)
    sys.exit(EXIT_USAGE)


def _explain_field(error: Exception, arguments: Sequence[str]) -> str:
    """Say which field there is not, and which was meant.

    Args:
      error: of a locked config; it names the last part of the field alone.
      arguments: of the command line, which has the whole of it if it was given there.
    """
    text = str(error.args[0]) if error.args else str(error)
    found = re.match(r"\W*(?:Key \")?(\w+)", text)
    name = found[1] if found else text
    known = list(all_paths())
    given = (argument.lstrip("-").partition("=")[0] for argument in arguments)
    paths = [path.removeprefix("config.") for path in given if "config." in path]
    path = next((path for path in paths if path not in known), name)
    for old, new in RENAMED.items():
        if path in (old, old.rpartition(".")[2]):
            return f"the config has no field {path}; it is called config.{new} now."
    if meant := [other for other in paths if other in known]:
        # The config has the fields of its own model and task alone.
        if meant[0].rpartition(".")[2] == path:
            return (
                f"the config has no field {meant[0]}: it is one of another model or "
                "task than those that the config is made for."
            )
    nearest = nearest_field(path, known)
    hint = f"Did you mean config.{nearest}?" if nearest else _ALL_FIELDS
    return f"the config has no field {path}. {hint}"
