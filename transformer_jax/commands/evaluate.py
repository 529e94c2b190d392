"""Translate test text with a run, and score that.

python -m transformer_jax evaluate --workdir RUN                        (its test split)
python -m transformer_jax evaluate --workdir RUN --source S --reference R

Scores and translations are kept in RUN/evaluation. Files may be plain or gzip, and
pipes; - is standard input. To score what is translated already: `score`.
"""

import argparse
import sys

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
from transformer_jax.runs.run_evaluation import RunEvaluation, evaluate_run
from transformer_jax.runs.trained_run import load_run


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
        _print_examples(evaluation, options.examples)
    try:
        run.directory.write_evaluation(
            evaluation.name, evaluation.report, evaluation.hypotheses, folder
        )
    except UserError as error:
        raise UserError(
            f"The scores are printed, but not kept. {error} --output_directory names "
            "one."
        ) from error


def _print_examples(evaluation: RunEvaluation, number: int) -> None:
    """Print the first few translations with what they are to be compared with."""
    sides = evaluation.sources, evaluation.references, evaluation.hypotheses
    for source, reference, hypothesis in list(zip(*sides, strict=True))[:number]:
        print(f"\nsource      {source}")
        print(f"reference   {reference}")
        print(f"translation {hypothesis}")


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
