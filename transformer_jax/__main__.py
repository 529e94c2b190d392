"""Each command by its name: python -m transformer_jax COMMAND, then its own flags."""

import sys

from transformer_jax.commands.messages import EXIT_USAGE
from transformer_jax.commands.start import start

COMMANDS = ("train", "evaluate", "translate", "prepare", "report", "plot", "check")


def main() -> None:
    """Hand the rest of the command line to the command that comes first in it."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(
            f"Usage: python -m transformer_jax {'|'.join(COMMANDS)} ...",
            file=sys.stderr,
        )
        sys.exit(EXIT_USAGE)
    start(sys.argv.pop(1))


if __name__ == "__main__":
    main()
