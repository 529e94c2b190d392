"""Each command by its name: python -m transformer_jax COMMAND, then its own options."""

import sys

import transformer_jax
from transformer_jax.commands.messages import EXIT_USAGE
from transformer_jax.commands.parser import PROGRAM
from transformer_jax.commands.start import start
from transformer_jax.errors import did_you_mean

# name → what it does.
COMMANDS = {
    "prepare": "prepare a data set of TensorFlow Datasets, once",
    "train": "train a model, or resume a run",
    "evaluate": "translate test text with a run, and score that",
    "score": "score finished translations, or compare two",
    "translate": "translate lines of text with a run",
    "predict": "classify lines of text, or tag their words, with a run",
    "report": "the paper's tables with our figures, costs, a run's card, all fields",
    "study": "measure a claim of the paper: a table, a picture, raw numbers",
    "plot": "draw a run's curves, its attention, or positions",
    "check": "say whether a run's files are whole",
}


def main() -> None:
    """Hand the rest of the command line to the command that comes first in it."""
    if sys.argv[1:2] == ["help"] and len(sys.argv) > 2:
        sys.argv[1:] = [*sys.argv[2:], "--help"]
    given = sys.argv[1] if len(sys.argv) > 1 else ""
    if given in COMMANDS:
        start(sys.argv.pop(1))
    elif given == "--version":
        print(f"transformer_jax {transformer_jax.__version__}")
    elif given in ("-h", "--help", "help"):
        print(_help())
    elif not given:
        print(_help(), file=sys.stderr)
        sys.exit(EXIT_USAGE)
    else:
        hint = did_you_mean(given, COMMANDS)
        message = f"there is no command {given!r}.{hint} See {PROGRAM} --help"
        print(f"transformer_jax: {message}", file=sys.stderr)
        sys.exit(EXIT_USAGE)


def _help() -> str:
    lines = [f"  {name:<11}{meaning}" for name, meaning in COMMANDS.items()]
    return "\n".join(
        [
            f"usage: {PROGRAM} COMMAND ...",
            "",
            "Attention Is All You Need, in JAX and Flax: train, translate, score.",
            "",
            *lines,
            "",
            f"{PROGRAM} COMMAND --help says more of each. To begin:",
            f"  {PROGRAM} train --config configs/grammar_tiny.py --workdir RUN",
        ]
    )


if __name__ == "__main__":
    main()
