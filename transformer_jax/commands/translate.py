"""Translate lines of text with a run.

python -m transformer_jax translate --workdir RUN < in.txt > out.txt

One line in, one line out, in the same order, always: an empty line comes out
empty, and one without a letter or a digit as it is. Lines are written as soon as
they and all before them are done, and whatever ends the program keeps them.
"""

import argparse
import sys
from typing import BinaryIO

from tqdm import tqdm

from transformer_jax.commands.arguments import (
    add_model_arguments,
    decoding_options,
    weight_options,
)
from transformer_jax.commands.compilation_cache import use_compilation_cache
from transformer_jax.commands.messages import (
    command,
    require_streams,
    terminations_as_interrupts,
)
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.data.arriving_lines import ArrivingLines, blocks_of_lines
from transformer_jax.decoding.translations import Translation
from transformer_jax.decoding.translator import Translator
from transformer_jax.errors import UserError
from transformer_jax.runs.trained_run import load_run

# As Moses writes bars, so that " ||| " is nothing but a separator.
_ESCAPED_BARS = "&#124;" * 3


def main() -> None:
    """Parse the arguments and translate standard input."""
    options = _parse()
    with command("translate"), terminations_as_interrupts():
        require_streams()
        use_compilation_cache()
        run = load_run(options.workdir, **weight_options(options))
        translator = run.translator(**decoding_options(options))
        if sys.stdin.isatty():
            print("translate: one sentence a line; Ctrl-D ends.", file=sys.stderr)
        _translate(
            translator,
            ArrivingLines(sys.stdin.fileno()),
            sys.stdout.buffer,
            options.num_best,
        )


def _translate(
    translator: Translator,
    lines: ArrivingLines,
    output: BinaryIO,
    num_best: int | None,
) -> None:
    """Write a translation for each line, and warnings to stderr."""
    written: list[int] = []  # The bytes of each line's output.
    # Beside lines on a terminal there is no room for a bar.
    is_hidden = True if sys.stdin.isatty() or output.isatty() else None
    try:
        with tqdm(unit="line", leave=False, disable=is_hidden) as bar:
            for block in blocks_of_lines(lines):
                for translation in translator.stream(block, progress=bar.update):
                    number = len(written) + 1
                    text = _format(number, translation, num_best).encode()
                    # In one call, between whose halves no signal can come.
                    written.extend(map(output.write, [text]))
                    output.flush()
                    for warning in translation.warnings:
                        told = f"translate: line {number}: {warning}"
                        bar.write(told, file=sys.stderr)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_far(len(written))) from None
    except UserError as error:
        raise UserError(f"{error} {_how_far(len(written))}") from error
    except BrokenPipeError:
        raise
    except OSError as error:  # The last line did not get further than its buffer.
        how_far = _how_far(max(0, len(written) - 1))
        message = f"Cannot write the translation: {error.strerror}. {how_far}"
        raise UserError(message) from error


def _how_far(done: int) -> str:
    if done == 0:
        return "No line was translated."
    return f"Lines 1 to {done} are translated; `tail -n +{done + 1}` gives the others."


def _format(number: int, translation: Translation, num_best: int | None) -> str:
    """Return a translation's line, or n-best lines as `number ||| text ||| score`."""
    if num_best is None:
        return translation.text + "\n"
    return "".join(
        f"{number} ||| {candidate.text.replace('|||', _ESCAPED_BARS)} "
        f"||| {candidate.score:.6f}\n"
        for candidate in translation.candidates
    )


def _parse() -> argparse.Namespace:
    parser = CommandParser(
        prog=f"{PROGRAM} translate",
        usage="%(prog)s --workdir RUN [options] < in.txt > out.txt",
        description=__doc__,
    )
    parser.add_argument(
        "--workdir", required=True, metavar="RUN", help="the run to translate with"
    )
    parser.add_argument(
        "--num_best",
        type=int,
        metavar="N",
        help="print the N best as `line ||| translation ||| score`; lines count from "
        f"1, and ||| within a translation is written {_ESCAPED_BARS}",
    )
    add_model_arguments(parser)
    return parser.parse_args()
