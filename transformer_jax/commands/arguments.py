"""Arguments that commands share: which weights, how to search."""

import argparse
import re
from typing import Any, get_args

from transformer_jax.data.lines import STANDARD_INPUT
from transformer_jax.decoding.hypotheses import LengthPenalty
from transformer_jax.evaluation.languages import TOKENIZERS


def add_weight_arguments(parser: argparse.ArgumentParser) -> None:
    """Add which weights of a run to use."""
    group = parser.add_argument_group("which weights")
    weights = group.add_mutually_exclusive_group()
    weights.add_argument(
        "--checkpoint",
        metavar="WHICH",
        help="best (by validation score; the default), last, or a number of steps",
    )
    weights.add_argument(
        "--average",
        type=int,
        default=0,
        metavar="N",
        help="the mean of the last N checkpoints' (Section 6.1)",
    )
    weights.add_argument(
        "--average_steps",
        type=_step_range,
        metavar="FIRST:LAST[:EVERY]",
        help="the mean over these steps; without EVERY, of all that are kept there",
    )


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add which weights of a run to use, and how to search with them."""
    add_weight_arguments(parser)
    search = parser.add_argument_group("search; left out, as the run's config says")
    search.add_argument("--beam_size", type=int, metavar="N", help="1 is greedy")
    search.add_argument(
        "--alpha", type=float, metavar="A", help="exponent of the length penalty"
    )
    search.add_argument(
        "--length_penalty", choices=get_args(LengthPenalty), help="which one"
    )
    search.add_argument(
        "--min_length", type=int, metavar="N", help="fewest tokens of a translation"
    )
    search.add_argument(
        "--tokens_per_batch",
        type=int,
        metavar="N",
        help="source tokens translated at a time; fewer take less memory",
    )


def add_score_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how to score, and how to print that."""
    parser.add_argument(
        "--tokenizer",
        choices=TOKENIZERS,
        metavar="NAME",
        help=f"of sacreBLEU's score, if not the language's: {', '.join(TOKENIZERS)}",
    )
    parser.add_argument(
        "--comet", metavar="PATH", help="a COMET model on disk, to score with as well"
    )
    parser.add_argument(
        "--format", choices=["table", "json"], default="table", help="how to print"
    )


def find_mistake_of_text(options: argparse.Namespace, *texts: str | None) -> str | None:
    """Return what is wrong with the choice of texts, if anything is.

    Args:
      options: those of scoring, with a source and references.
      texts: other files that are read.
    """
    references = options.reference or []
    files = (*texts, options.source, *references)
    if sum(file in ("-", STANDARD_INPUT) for file in files) > 1:
        return "standard input can be read once, so that only one text can come from it"
    if options.comet is not None and len(references) > 1:
        return "--comet reads one --reference"
    return None


def weight_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return which weights were asked for, as `load_run` takes it."""
    names = ("checkpoint", "average", "average_steps")
    return {name: getattr(options, name) for name in names}


def decoding_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of beam search that were given."""
    names = (
        *("beam_size", "alpha", "length_penalty"),
        *("min_length", "tokens_per_batch", "num_best"),
    )
    given = {name: getattr(options, name, None) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def _step_range(text: str) -> tuple[int, int, int | None]:
    """Read FIRST:LAST or FIRST:LAST:EVERY, whose last step has to be LAST."""
    if not re.fullmatch(r"\d+:\d+(:\d+)?", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not FIRST:LAST or FIRST:LAST:EVERY, as 1000:5000:1000"
        )
    first, last, *rest = map(int, text.split(":"))
    every = rest[0] if rest else None
    if first > last:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it begins")
    if every is not None and (every == 0 or (last - first) % every):
        raise argparse.ArgumentTypeError(
            f"{text!r}: steps of {every} do not lead from {first} to {last}"
        )
    return first, last, every
