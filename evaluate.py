"""Score translations: flags → experiment → translate, score, report.

python evaluate.py --workdir RUN                            the test split of a run
python evaluate.py --workdir RUN --source S --reference R   other text, by a run
python evaluate.py --hypothesis H --reference R --target_language de   finished text
"""

import argparse
import dataclasses
import json
import pathlib
import sys

from tqdm import tqdm

from transformer_jax.command import (
    add_model_arguments,
    command,
    decoding_options,
    weight_options,
)
from transformer_jax.data.grammar.phenomena import PHENOMENA, phenomenon_examples
from transformer_jax.data.lines import read_lines
from transformer_jax.decoding.translate import Translator
from transformer_jax.errors import UserError
from transformer_jax.evaluation.bleu import Scores, score
from transformer_jax.evaluation.phenomena import PhenomenonScores, score_phenomena
from transformer_jax.trained_run import TrainedRun, load_run

_EXAMPLES_PER_PHENOMENON = 200


def main() -> None:
    """Parse the arguments and score."""
    options = _parse()
    with command("evaluate.py"):
        if options.workdir is None:
            scores = score(
                read_lines(options.hypothesis),
                read_lines(options.reference),
                options.target_language,
            )
            _print_scores(scores, options.format)
        else:
            _evaluate_run(options)


def _evaluate_run(options: argparse.Namespace) -> None:
    """Translate with a run, score, and keep scores and translations in it."""
    run = load_run(options.workdir, **weight_options(options))
    if options.phenomena and run.config.data.source != "grammar":
        raise UserError(
            f"--phenomena is for runs on the built-in corpus; {run.directory.root} was "
            f"trained with config.data.source={run.config.data.source!r}."
        )
    translator = run.translator(**decoding_options(options))
    if options.source is None:
        sources, references = run.directory.read_split(options.split)
    else:
        sources, references = read_lines(options.source), read_lines(options.reference)
    if len(sources) != len(references):
        raise UserError(
            f"{options.source} has {len(sources)} lines, {options.reference} has "
            f"{len(references)}. Give files whose lines belong together."
        )
    with tqdm(total=len(sources), unit="line", leave=False, disable=None) as bar:
        translations = translator.translate(sources, progress=bar.update)
    hypotheses = [translation.text for translation in translations]
    warned = sum(bool(translation.warnings) for translation in translations)
    if warned:
        print(f"{warned} lines were too long and translated in pieces", file=sys.stderr)

    scores = score(
        hypotheses, references, run.config.data.target_language, sources=sources
    )
    report = scores.as_dict() | {
        "produced_by": {
            "text": options.source or options.split,
            "checkpoint_steps": list(run.steps),
            "is_average": len(run.steps) > 1,
            **dataclasses.asdict(translator.settings),
        }
    }
    phenomena = _score_phenomena(run, translator) if options.phenomena else None
    if phenomena is not None:
        report["phenomena"] = phenomena.as_dict()
    text_name = pathlib.Path(options.source or options.split).name
    weights = f"average{len(run.steps)}" if len(run.steps) > 1 else "step"
    search = translator.settings
    stem = (
        f"{text_name}.{weights}-{run.steps[-1]}.beam{search.beam_size}"
        f".{search.length_penalty}{search.alpha:g}"
    )
    run.directory.write_evaluation(stem, report, hypotheses)

    _print_scores(scores, options.format)
    if options.format == "table":
        if phenomena is not None:
            print("\n" + phenomena.table())
        _print_examples(sources, references, hypotheses, options.examples)


def _score_phenomena(run: TrainedRun, translator: Translator) -> PhenomenonScores:
    """Score each phenomenon of the grammar corpus by itself."""
    examples = {
        name: phenomenon_examples(name, _EXAMPLES_PER_PHENOMENON, run.config.seed)
        for name in PHENOMENA
    }
    return score_phenomena(
        lambda sources: [line.text for line in translator.translate(sources)], examples
    )


def _print_scores(scores: Scores, format_name: str) -> None:
    if format_name == "json":
        print(json.dumps(scores.as_dict(), ensure_ascii=False))
    else:
        print(scores.table())


def _print_examples(
    sources: list[str], references: list[str], hypotheses: list[str], number: int
) -> None:
    """Print the first few translations with what they are to be compared with."""
    for source, reference, hypothesis in list(
        zip(sources, references, hypotheses, strict=True)
    )[:number]:
        print(f"\nsource      {source}")
        print(f"reference   {reference}")
        print(f"translation {hypothesis}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="evaluate.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workdir", help="the run to translate with")
    parser.add_argument("--split", default="test", help="which of the run's own splits")
    parser.add_argument("--source", help="text to translate instead")
    parser.add_argument("--reference", help="its right translation, line by line")
    parser.add_argument("--hypothesis", help="a finished translation to score")
    parser.add_argument(
        "--target_language", "--target-language", help="of the hypothesis, as de"
    )
    add_model_arguments(parser)
    parser.add_argument("--format", choices=["table", "json"], default="table")
    parser.add_argument(
        "--phenomena",
        action="store_true",
        help="also score the grammar corpus's phenomena, one by one",
    )
    parser.add_argument(
        "--examples", type=int, default=0, metavar="N", help="print N translations"
    )
    options = parser.parse_args()
    if options.workdir is None:
        needed = ("hypothesis", "reference", "target_language")
        missing = [name for name in needed if getattr(options, name) is None]
        if missing:
            parser.error(
                f"give --workdir, or a finished translation with "
                f"--{', --'.join(needed)} (missing: --{', --'.join(missing)})"
            )
    elif options.hypothesis is not None:
        parser.error("give --workdir to translate or --hypothesis to score, not both")
    elif (options.source is None) != (options.reference is None):
        parser.error("--source and --reference belong together")
    return options


if __name__ == "__main__":
    main()
