"""Classify lines of text, or tag their words, with a fine-tuned run.

python -m transformer_jax predict --workdir RUN < in.txt > out.txt

One line in, one line out, in the same order: its label, or one for each word. A
tab parts the sentences of a pair. An empty line comes out empty.
"""

import argparse
import sys
from typing import BinaryIO

from transformer_jax.commands.arguments import add_weight_arguments, weight_options
from transformer_jax.commands.compilation_cache import use_compilation_cache
from transformer_jax.commands.messages import (
    command,
    require_streams,
    terminations_as_interrupts,
)
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.data.arriving_lines import ArrivingLines, blocks_of_lines
from transformer_jax.data.lines import is_blank
from transformer_jax.data.text_source import Text
from transformer_jax.decoding.classifier import Classifier, Prediction
from transformer_jax.errors import UserError
from transformer_jax.runs.trained_run import load_run


def main() -> None:
    """Parse the arguments and classify standard input."""
    options = _parse()
    with command("predict"), terminations_as_interrupts():
        require_streams()
        use_compilation_cache()
        run = load_run(options.workdir, **weight_options(options))
        classifier = run.classifier()
        if sys.stdin.isatty():
            print("predict: one text a line; Ctrl-D ends.", file=sys.stderr)
        _predict(
            classifier,
            run.parts.task.num_sentences,
            ArrivingLines(sys.stdin.fileno()),
            sys.stdout.buffer,
            options.probabilities,
        )


def _predict(
    classifier: Classifier,
    num_sentences: int,
    lines: ArrivingLines,
    output: BinaryIO,
    with_probabilities: bool,
) -> None:
    """Write a line for each line."""
    done = 0
    for block in blocks_of_lines(lines):
        texts: list[Text | None] = []
        mistake: UserError | None = None
        for number, line in enumerate(block, start=done + 1):
            try:
                texts.append(_split(line, num_sentences, number))
            except UserError as error:  # Those before it are classified.
                mistake = error
                break
        found = iter(classifier.classify([text for text in texts if text]))
        for text in texts:
            line = _format(next(found), classifier, with_probabilities) if text else ""
            output.write(f"{line}\n".encode())
        output.flush()
        if mistake is not None:
            raise mistake
        done += len(block)


def _split(line: str, num_sentences: int, number: int) -> Text | None:
    """Return the sentences of a line; None for one that shows nothing."""
    if is_blank(line):
        return None
    sentences = tuple(line.split("\t")) if num_sentences > 1 else (line,)
    if len(sentences) != num_sentences or any(map(is_blank, sentences)):
        raise UserError(
            f"line {number} has {len(sentences)} columns; expected {num_sentences} "
            "sentences, with a tab between. No line from here on is classified."
        )
    return sentences


def _format(
    prediction: Prediction, classifier: Classifier, with_probabilities: bool
) -> str:
    label = classifier.labels.join(prediction.classes)
    if not with_probabilities:
        return label
    shares = " ".join(f"{share:.4f}" for share in prediction.probabilities)
    return f"{label}\t{shares}"


def _parse() -> argparse.Namespace:
    parser = CommandParser(
        prog=f"{PROGRAM} predict",
        usage="%(prog)s --workdir RUN [options] < in.txt > out.txt",
        description=__doc__,
    )
    parser.add_argument(
        "--workdir", required=True, metavar="RUN", help="the run to classify with"
    )
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="print behind a tab how probable the model finds each label",
    )
    add_weight_arguments(parser)
    return parser.parse_args()
