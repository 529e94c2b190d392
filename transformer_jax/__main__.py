"""Each command by its name: python -m transformer_jax COMMAND, then its own flags."""

import importlib
import sys

from transformer_jax.commands.huge_pages import restart_with_huge_pages
from transformer_jax.commands.messages import EXIT_USAGE

COMMANDS = ("train", "evaluate", "translate", "prepare", "report", "plot", "check")


def main() -> None:
    """Hand the rest of the command line to the command that comes first in it."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(
            f"Usage: python -m transformer_jax {'|'.join(COMMANDS)} ...",
            file=sys.stderr,
        )
        sys.exit(EXIT_USAGE)
    name = sys.argv.pop(1)
    importlib.import_module(f"transformer_jax.commands.{name}").main()


if __name__ == "__main__":
    restart_with_huge_pages()
    main()
