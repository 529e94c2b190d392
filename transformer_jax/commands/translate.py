"""Translate lines of text with a run.

python -m transformer_jax.translate --workdir RUN < in.txt > out.txt

One line in, one line out, in the same order, always: an empty line comes out
empty, and one without a letter or a digit as it is.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from typing import BinaryIO

from tqdm import tqdm

from transformer_jax.commands.arguments import (
    CommandParser,
    add_model_arguments,
    decoding_options,
    weight_options,
)
from transformer_jax.commands.compilation_cache import use_compilation_cache
from transformer_jax.commands.messages import command
from transformer_jax.data.lines import iter_lines
from transformer_jax.decoding.translator import Translation, Translator
from transformer_jax.runs.trained_run import load_run

# Lines that are read before the first is translated: sorting them by length is what
# makes batches dense.
_LINES_AT_ONCE = 10_000


def main() -> None:
    """Parse the arguments and translate standard input."""
    options = _parse()
    with command("translate"):
        use_compilation_cache()
        run = load_run(options.workdir, **weight_options(options))
        translator = run.translator(**decoding_options(options))
        lines = iter_lines(sys.stdin.buffer, "standard input")
        _translate(translator, lines, sys.stdout.buffer, options.num_best)


def _translate(
    translator: Translator,
    lines: Iterator[str],
    output: BinaryIO,
    num_best: int | None,
) -> None:
    """Write a translation for each line, and warnings to stderr."""
    first_line = 1
    while block := list(itertools.islice(lines, _LINES_AT_ONCE)):
        with tqdm(total=len(block), unit="line", leave=False, disable=None) as bar:
            translations = translator.translate(block, progress=bar.update)
        for number, translation in enumerate(translations, first_line):
            output.write(_format(number, translation, num_best).encode())
            for warning in translation.warnings:
                print(f"translate: line {number}: {warning}", file=sys.stderr)
        output.flush()
        first_line += len(block)


def _format(number: int, translation: Translation, num_best: int | None) -> str:
    """Return a translation's line, or n-best lines as `n ||| text ||| score`."""
    if num_best is None:
        return translation.text + "\n"
    return "".join(
        f"{number} ||| {candidate.text} ||| {candidate.score:.6f}\n"
        for candidate in translation.candidates
    )


def _parse() -> argparse.Namespace:
    parser = CommandParser(
        prog="python -m transformer_jax.translate", description=__doc__
    )
    parser.add_argument("--workdir", required=True, help="the run to translate with")
    parser.add_argument(
        "--num_best",
        "--num-best",
        type=int,
        metavar="N",
        help="print the N best as `line ||| translation ||| score`",
    )
    add_model_arguments(parser)
    return parser.parse_args()
