"""Train a model, or resume a run that was broken off: the same command does either.

python -m transformer_jax train --config configs/grammar_tiny.py --workdir RUN
"""

import logging
import pathlib
import shlex
import shutil
import sys

import ml_collections

from transformer_jax.commands.compilation_cache import use_compilation_cache
from transformer_jax.commands.config_flags import parse_config
from transformer_jax.commands.messages import (
    EXIT_INTERRUPTED,
    command,
    terminations_as_interrupts,
)
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.errors import UserError
from transformer_jax.runs import experiment
from transformer_jax.runs.directory import RunDirectory

_LOGGER = logging.getLogger(__name__)


def main() -> None:
    """Parse the options and train; the last line says how to go on."""
    parser = CommandParser(
        prog=f"{PROGRAM} train",
        usage="%(prog)s --config FILE --workdir RUN [--config.FIELD=VALUE ...]",
        description=__doc__,
        takes_fields=True,
    )
    parser.add_argument(
        "--workdir",
        required=True,
        metavar="RUN",
        help="the run's directory; made if missing, resumed if it was begun",
    )
    with command("train"), terminations_as_interrupts():
        config, options = parse_config(parser)
        use_compilation_cache()
        directory = RunDirectory(options.workdir)
        try:
            reason = experiment.train(config, directory.root)
        except (UserError, KeyboardInterrupt, OSError) as error:
            if isinstance(error, BrokenPipeError) or not _is_run_of(directory, config):
                raise
            if isinstance(error, UserError) and not directory.is_begun:
                raise  # The text or the config has to change first.
            hint = f"To go on: {_same_command()}"
            if isinstance(error, OSError):
                place = error.filename or "no file named"
                fault = f"{error.strerror or error}: {place}"
                raise UserError(f"{fault}\n{hint}") from error
            raise type(error)("\n".join([*error.args, hint])) from error
        if reason == "finished":
            more = f"--config.training.num_steps={2 * config.training.num_steps}"
            _LOGGER.info("To train for longer: %s", _same_command(more))
        elif reason == "early_stopping":
            more = "--config.training.patience=0"
            _LOGGER.info("To go on all the same: %s", _same_command(more))
        else:
            _LOGGER.info("To go on: %s", _same_command())
            sys.exit(EXIT_INTERRUPTED)


def _is_run_of(directory: RunDirectory, config: ml_collections.ConfigDict) -> bool:
    """Whether the directory was taken for this config, so that it can go on with it."""
    try:
        return directory.read_config().to_json() == config.to_json()
    except UserError:
        return False


def _same_command(change: str = "") -> str:
    """Return what this process was started by, to be pasted into a shell.

    Args:
      change: a flag to give beside, or in place of one that was given.
    """
    flag, arguments = change.partition("=")[0], []
    given = iter(sys.orig_argv[1:])
    for argument in given:
        if not flag or argument.partition("=")[0] not in (flag, flag[1:]):
            arguments.append(argument)
        elif "=" not in argument:
            next(given, None)  # Its value.
    arguments += [change] * bool(change)
    name = pathlib.Path(sys.executable).name
    python = name if shutil.which(name) == sys.executable else sys.executable
    return shlex.join([python, *arguments])
