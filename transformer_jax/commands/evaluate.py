"""Translate test text with a run, and score that.

python -m transformer_jax evaluate --workdir RUN                        (its test split)
python -m transformer_jax evaluate --workdir RUN --source S --reference R

Scores and translations are kept in RUN/evaluation. Files may be plain or gzip, and
pipes; - is standard input. To score what is translated already: `score`.
"""

import argparse
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from transformer_jax.commands import score
from transformer_jax.commands.arguments import (
    add_model_arguments,
    add_score_arguments,
    decoding_options,
    find_mistake_of_text,
    weight_options,
)
from transformer_jax.commands.compilation_cache import use_compilation_cache
from transformer_jax.commands.messages import command
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.errors import UserError
from transformer_jax.evaluation.comet import load_comet
from transformer_jax.files import as_path
from transformer_jax.runs.class_evaluation import evaluate_classes
from transformer_jax.runs.run_evaluation import evaluate_run
from transformer_jax.runs.trained_run import TrainedRun, load_run


def main() -> None:
    """Parse the arguments, translate and score."""
    if score.is_meant(sys.argv[1:]):
        score.main()
        return
    options = _parse()
    with command("evaluate"):
        use_compilation_cache()
        _evaluate_run(options)


def _evaluate_run(options: argparse.Namespace) -> None:
    """Translate with a run and score; print that before it is written."""
    folder = None
    if options.output_directory is not None:  # What fails does so before the long work.
        folder = as_path(options.output_directory)
        folder.mkdir(parents=True, exist_ok=True)
    run = load_run(options.workdir, **weight_options(options))
    if run.parts.task.labels is not None:
        _evaluate_classes(run, options, folder)
        return
    evaluation = evaluate_run(
        run,
        decoding_options(options),
        split=options.split,
        files=(options.source, *options.reference) if options.source else None,
        with_phenomena=options.phenomena,
        tokenizer=options.tokenizer,
        comet=load_comet(options.comet) if options.comet else None,
    )
    score.print_scores(evaluation.scores, options.format)
    if options.format == "table":
        if evaluation.phenomena is not None:
            print("\n" + evaluation.phenomena.table())
        _print_examples(
            ("source", "reference", "translation"),
            (evaluation.sources, evaluation.references, evaluation.hypotheses),
            options.examples,
        )
    _keep(run, evaluation.name, evaluation.report, evaluation.hypotheses, folder)


def _evaluate_classes(
    run: TrainedRun, options: argparse.Namespace, folder: pathlib.Path | None
) -> None:
    """Classify with a run and score; print that before it is written."""
    if options.source is not None:
        raise UserError(
            "--source is for runs that translate. Name the file in the run's config "
            "(config.data.labelled.test), or let `predict` label it."
        )
    evaluation = evaluate_classes(run, options.split)
    score.print_scores(evaluation.scores, options.format)
    if options.format == "table":
        texts = [" ||| ".join(text) for text in evaluation.texts]
        _print_examples(
            ("text", "label", "prediction"),
            (texts, evaluation.truths, evaluation.guesses),
            options.examples,
        )
    _keep(run, evaluation.name, evaluation.report, evaluation.guesses, folder)


def _keep(
    run: TrainedRun,
    name: str,
    report: Mapping[str, Any],
    lines: Sequence[str],
    folder: pathlib.Path | None,
) -> None:
    """Write scores and what was scored into the run, or another folder."""
    try:
        run.directory.write_evaluation(name, report, lines, folder)
    except UserError as error:
        raise UserError(
            f"The scores are printed, but not kept. {error} --output_directory names "
            "one."
        ) from error


def _print_examples(
    names: tuple[str, str, str],
    sides: tuple[Sequence[str], Sequence[str], Sequence[str]],
    number: int,
) -> None:
    """Print the first few results with what they are of and to be compared with."""
    for lines in list(zip(*sides, strict=True))[:number]:
        print()
        for name, line in zip(names, lines, strict=True):
            print(f"{name:<11} {line}")


def _parse() -> argparse.Namespace:
    parser = CommandParser(
        prog=f"{PROGRAM} evaluate",
        usage="%(prog)s --workdir RUN [options]",
        description=__doc__,
    )
    parser.add_argument(
        "--workdir", required=True, metavar="RUN", help="the run to translate with"
    )
    parser.add_argument(
        "--split", default="test", help="which of the run's own; test if left out"
    )
    parser.add_argument("--source", metavar="FILE", help="text to translate instead")
    parser.add_argument(
        "--reference",
        nargs="+",
        action="extend",
        metavar="FILE",
        help="its right translation, line by line; several are used together",
    )
    parser.add_argument(
        "--examples", type=int, default=0, metavar="N", help="print N translations"
    )
    parser.add_argument(
        "--phenomena",
        action="store_true",
        help="also score the grammar corpus's phenomena, one by one",
    )
    parser.add_argument(
        "--output_directory",
        metavar="DIR",
        help="where scores and translations are kept, instead of in the run",
    )
    add_score_arguments(parser)
    add_model_arguments(parser)
    options = parser.parse_args()
    if mistake := _find_mistake(options):
        parser.error(mistake)
    return options


def _find_mistake(options: argparse.Namespace) -> str | None:
    """Return what is wrong with the options as a whole, if anything is."""
    if options.examples < 0:
        return f"--examples={options.examples}: expected at least 0"
    if (options.source is None) != (options.reference is None):
        return "--source and --reference belong together"
    return find_mistake_of_text(options)
