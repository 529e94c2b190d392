"""Train a model: flags → experiment → training loop.

python train.py --config configs/grammar_tiny.py --workdir runs/grammar
"""

import re
import sys
from typing import NoReturn

from absl import app, flags
from ml_collections import config_flags

from transformer_jax import experiment
from transformer_jax.command import EXIT_INTERRUPTED, EXIT_USAGE, command
from transformer_jax.errors import UserError

_CONFIG = config_flags.DEFINE_config_file(
    "config", None, "A file of configs/, and --config.FIELD=VALUE for single fields."
)
_WORKDIR = flags.DEFINE_string(
    "workdir", None, "The run's directory; made if missing.", required=True
)


def main() -> None:
    """Parse the flags and train."""
    with command("train.py"):
        _parse_flags()
        if experiment.train(_CONFIG.value, _WORKDIR.value) == "terminated":
            sys.exit(EXIT_INTERRUPTED)


def _parse_flags() -> None:
    app.define_help_flags()
    flags.mark_flag_as_required("config")
    try:
        rest = flags.FLAGS(sys.argv)
        _ = _CONFIG.value.version
    except flags.Error as error:
        _usage(str(error))
    except (AttributeError, KeyError) as error:
        raise UserError(_explain_field(error)) from error
    except OSError as error:
        raise UserError(
            f"--config={flags.FLAGS['config'].value} cannot be loaded. Give one of the "
            f"files of configs/, or your own.\n{error}"
        ) from error
    if len(rest) > 1:
        _usage(f"unexpected arguments: {' '.join(rest[1:])}")


def _usage(message: str) -> NoReturn:
    print(f"train.py: {message}\nUsage: {__doc__}", file=sys.stderr)
    sys.exit(EXIT_USAGE)


def _explain_field(error: Exception) -> str:
    """Shorten a locked config's message to the field and the nearest one."""
    text = str(error.args[0]) if error.args else str(error)
    field = re.match(r"\W*(?:Key \")?(\w+)", text)
    nearest = re.search(r'Did you mean "([^"]+)"', text)
    hint = f"Did you mean {nearest[1]}?" if nearest else "See configs/default.py."
    return f"the config has no field {field[1] if field else text}. {hint}"


if __name__ == "__main__":
    main()
