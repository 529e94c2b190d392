"""The flags of commands that take a config: --config, and its fields one by one."""

import re
import sys
from typing import NoReturn

import ml_collections
from absl import app, flags
from ml_collections import config_flags

from transformer_jax.commands.messages import EXIT_USAGE
from transformer_jax.errors import UserError

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
        raise UserError(_explain_field(error)) from error
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


def _explain_field(error: Exception) -> str:
    """Shorten a locked config's message to the field and the nearest one."""
    text = str(error.args[0]) if error.args else str(error)
    field = re.match(r"\W*(?:Key \")?(\w+)", text)
    nearest = re.search(r'Did you mean "([^"]+)"', text)
    hint = (
        f"Did you mean {nearest[1]}?"
        if nearest
        else "Its fields are in transformer_jax/config/."
    )
    return f"the config has no field {field[1] if field else text}. {hint}"
