"""Score finished translations, or test whether two systems' differ.

python -m transformer_jax score --hypothesis H --reference R --target_language de

With --baseline B it is a paired bootstrap test of the two. Files may be plain or
gzip, and pipes; - is standard input. No model is needed.
"""

import argparse
import json
import re
from collections.abc import Sequence
from typing import Any

from transformer_jax.commands.arguments import (
    add_score_arguments,
    find_mistake_of_text,
)
from transformer_jax.commands.messages import command
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.data.lines import read_lines
from transformer_jax.evaluation.class_scores import ClassScores
from transformer_jax.evaluation.comet import load_comet
from transformer_jax.evaluation.scored_text import name_test_set
from transformer_jax.evaluation.scores import Scores, score
from transformer_jax.evaluation.significance import (
    NUM_SAMPLES,
    SEED,
    Comparison,
    compare,
)
from transformer_jax.language_codes import normalise_language


def main() -> None:
    """Parse the arguments, score and print."""
    options = _parse()
    with command("score"):
        references, about = _read_references(options)
        print_scores(_scores(options, references, about), options.format)


def print_scores(scores: Scores | Comparison | ClassScores, format_name: str) -> None:
    """Print scores as "table" or "json"."""
    if format_name == "json":
        print(json.dumps(scores.as_dict(), ensure_ascii=False))
    else:
        print(scores.table())


def is_meant(arguments: Sequence[str]) -> bool:
    """Whether `evaluate`, which scored finished text as well once, is asked to."""
    return any(re.match("--?(hypothesis|baseline)(=|$)", each) for each in arguments)


def _scores(
    options: argparse.Namespace, references: list[str], about: dict[str, Any]
) -> Scores | Comparison:
    """Score one translation, or two against each other."""
    hypotheses, language = read_lines(options.hypothesis), options.target_language
    if options.baseline is None:
        comet = load_comet(options.comet) if options.comet else None
        return score(hypotheses, references, language, comet=comet, **about)
    return compare(
        hypotheses,
        read_lines(options.baseline),
        references,
        language,
        num_samples=options.bootstrap_samples,
        **about,
    )


def _read_references(options: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """Read what a finished translation is scored by, and what is known about it."""
    references, *more_references = map(read_lines, options.reference)
    languages = {normalise_language(options.target_language)}
    return references, {
        "more_references": more_references,
        "sources": read_lines(options.source) if options.source else None,
        "tokenizer": options.tokenizer,
        "test_set": name_test_set(options.reference[0], len(references), languages),
    }


def _parse() -> argparse.Namespace:
    parser = CommandParser(
        prog=f"{PROGRAM} score",
        usage="%(prog)s --hypothesis H --reference R --target_language LL [options]",
        description=__doc__,
    )
    parser.add_argument(
        "--hypothesis", required=True, metavar="FILE", help="a finished translation"
    )
    parser.add_argument(
        "--reference",
        required=True,
        nargs="+",
        action="extend",
        metavar="FILE",
        help="the right one, line by line; several are used together",
    )
    parser.add_argument(
        "--target_language", required=True, metavar="LL", help="as de, en, zh"
    )
    parser.add_argument(
        "--source", metavar="FILE", help="what was translated; copies of it are noted"
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help="another system's translation: to compare with",
    )
    parser.add_argument(
        "--bootstrap_samples",
        type=int,
        metavar="N",
        help=f"how often to resample for that ({NUM_SAMPLES} if left out; the seed is "
        f"always {SEED})",
    )
    add_score_arguments(parser)
    options = parser.parse_args()
    if mistake := _find_mistake(options):
        parser.error(mistake)
    if options.bootstrap_samples is None:
        options.bootstrap_samples = NUM_SAMPLES
    return options


def _find_mistake(options: argparse.Namespace) -> str | None:
    """Return what is wrong with the options as a whole, if anything is."""
    if options.baseline is None and options.bootstrap_samples is not None:
        return "--bootstrap_samples needs --baseline"
    if options.comet is not None and options.baseline is not None:
        return "--comet scores one system; leave out --baseline"
    if options.comet is not None and options.source is None:
        return "--comet needs --source"
    return find_mistake_of_text(options, options.hypothesis, options.baseline)
