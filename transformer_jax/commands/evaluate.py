"""Score translations: of a run, which translates first, or finished ones.

python evaluate.py --workdir RUN                            the test split of a run
python evaluate.py --workdir RUN --source S --reference R   other text, by a run
python evaluate.py --hypothesis H --reference R --target_language de   finished text;
                                         with --source S, copies of it are warned of
python evaluate.py --hypothesis H --baseline B --reference R --target_language de
                                         are two systems different? paired bootstrap

Scores of a run are also written into it, as RUN/evaluation/*.json. Files may be plain
or gzip, and pipes; - is standard input.
"""

import argparse
import json
from typing import Any

from transformer_jax.commands.arguments import (
    CommandParser,
    add_model_arguments,
    decoding_options,
    weight_options,
)
from transformer_jax.commands.compilation_cache import use_compilation_cache
from transformer_jax.commands.messages import command
from transformer_jax.data.lines import STANDARD_INPUT, read_lines
from transformer_jax.errors import UserError
from transformer_jax.evaluation.comet import load_comet
from transformer_jax.evaluation.languages import TOKENIZERS, normalise_language
from transformer_jax.evaluation.scored_text import name_test_set
from transformer_jax.evaluation.scores import Scores, score
from transformer_jax.evaluation.significance import (
    NUM_SAMPLES,
    SEED,
    Comparison,
    compare,
)
from transformer_jax.files import as_path
from transformer_jax.runs.run_evaluation import RunEvaluation, evaluate_run
from transformer_jax.runs.trained_run import load_run

# Options that say something about a finished translation.
_OF_FINISHED_TEXT = {
    "hypothesis",
    "reference",
    "source",
    "target_language",
    "baseline",
    "bootstrap_samples",
    "tokenizer",
    "comet",
    "format",
}


def main() -> None:
    """Parse the arguments and score."""
    options = _parse()
    with command("evaluate.py"):
        use_compilation_cache()
        if options.workdir is not None:
            _evaluate_run(options)
        elif options.baseline is not None:
            _compare(options)
        else:
            _score(options)


def _score(options: argparse.Namespace) -> None:
    """Score a finished translation."""
    references, about = _read_references(options)
    scores = score(
        read_lines(options.hypothesis),
        references,
        options.target_language,
        comet=load_comet(options.comet) if options.comet else None,
        **about,
    )
    _print_scores(scores, options.format)


def _compare(options: argparse.Namespace) -> None:
    """Test whether two finished translations differ."""
    references, about = _read_references(options)
    comparison = compare(
        read_lines(options.hypothesis),
        read_lines(options.baseline),
        references,
        options.target_language,
        num_samples=options.bootstrap_samples,
        **about,
    )
    _print_scores(comparison, options.format)


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
    _print_scores(evaluation.scores, options.format)
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


def _print_scores(scores: Scores | Comparison, format_name: str) -> None:
    if format_name == "json":
        print(json.dumps(scores.as_dict(), ensure_ascii=False))
    else:
        print(scores.table())


def _print_examples(evaluation: RunEvaluation, number: int) -> None:
    """Print the first few translations with what they are to be compared with."""
    sides = evaluation.sources, evaluation.references, evaluation.hypotheses
    for source, reference, hypothesis in list(zip(*sides, strict=True))[:number]:
        print(f"\nsource      {source}")
        print(f"reference   {reference}")
        print(f"translation {hypothesis}")


def _parse() -> argparse.Namespace:
    parser = CommandParser(
        prog="evaluate.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workdir", help="the run to translate with")
    _add_text_arguments(parser)
    _add_score_arguments(parser)
    add_model_arguments(parser)
    options = parser.parse_args()
    given = {
        name
        for name, value in vars(options).items()
        if value != parser.get_default(name)
    }
    if mistake := _find_mistake(options, given):
        parser.error(mistake)
    return options


def _add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """Add which text is translated, or is scored as it is."""
    parser.add_argument("--split", default="test", help="which of the run's own splits")
    parser.add_argument(
        "--source", help="text to translate instead, or that the hypothesis translates"
    )
    parser.add_argument(
        "--reference",
        nargs="+",
        action="extend",
        help="its right translation, line by line; several are used together",
    )
    parser.add_argument("--hypothesis", help="a finished translation to score")
    parser.add_argument(
        "--target_language", "--target-language", help="of the hypothesis, as de"
    )
    parser.add_argument(
        "--baseline",
        help="another system's translation, to test the hypothesis by",
    )


def _add_score_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how it is scored, and where to the scores go."""
    parser.add_argument(
        "--bootstrap_samples",
        "--bootstrap-samples",
        type=int,
        default=NUM_SAMPLES,
        metavar="N",
        help=f"how often to resample for that test (default: {NUM_SAMPLES}, "
        f"always with the seed {SEED})",
    )
    parser.add_argument(
        "--tokenizer",
        choices=TOKENIZERS,
        help="of sacreBLEU's score (default: the one that fits the language)",
    )
    parser.add_argument(
        "--comet", metavar="PATH", help="a COMET model on disk, to score with as well"
    )
    parser.add_argument(
        "--phenomena",
        action="store_true",
        help="also score the grammar corpus's phenomena, one by one",
    )
    parser.add_argument("--format", choices=["table", "json"], default="table")
    parser.add_argument(
        "--examples", type=int, default=0, metavar="N", help="print N translations"
    )
    parser.add_argument(
        "--output_directory",
        "--output-directory",
        metavar="DIR",
        help="where scores and translations of a run are kept, instead of in it",
    )


def _find_mistake(options: argparse.Namespace, given: set[str]) -> str | None:
    """Return what is wrong with the options as a whole, if anything is.

    Args:
      options: all of them.
      given: names of those that differ from their defaults.
    """
    texts = (
        options.source,
        options.hypothesis,
        options.baseline,
        *(options.reference or ()),
    )
    if sum(text in ("-", STANDARD_INPUT) for text in texts) > 1:
        return "standard input can be read once, so that only one text can come from it"
    if options.examples < 0:
        return f"--examples={options.examples}: expected at least 0"
    if options.comet is not None and len(options.reference or ()) > 1:
        return "--comet reads one --reference"
    if options.workdir is None:
        needed: tuple[str, ...] = ("hypothesis", "reference", "target_language")
        if options.comet is not None and options.baseline is not None:
            return "--comet scores one system; leave out --baseline"
        if options.comet is not None:
            needed += ("source",)
        missing = [name for name in needed if getattr(options, name) is None]
        if missing:
            return (
                f"give --workdir, or a finished translation with "
                f"--{', --'.join(needed)} (missing: --{', --'.join(missing)})"
            )
        if unused := sorted(given - _OF_FINISHED_TEXT):
            return f"--{', --'.join(unused)} can be given with --workdir only"
        if options.baseline is None and "bootstrap_samples" in given:
            return "--bootstrap_samples needs --baseline"
    elif options.hypothesis is not None or options.baseline is not None:
        return (
            "give --workdir to translate, or --hypothesis (and --baseline) to score "
            "what is translated already, not both"
        )
    elif unused := sorted(given & {"target_language", "bootstrap_samples"}):
        return f"--{', --'.join(unused)} can be given with --hypothesis only"
    elif (options.source is None) != (options.reference is None):
        return "--source and --reference belong together"
    return None
