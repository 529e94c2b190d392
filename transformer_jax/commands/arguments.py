"""Arguments that commands share: which weights, how to search; each given once."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, get_args

from transformer_jax.decoding.hypotheses import LengthPenalty


class _StoreOnce(argparse.Action):
    """Store a value, as by default, but only one."""

    _given: str | Sequence[Any] | None = None

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        if self._given is not None:
            parser.error(
                f"{option_string} is given twice: {self._given} and {values}. Give it "
                "once"
            )
        self._given = values
        setattr(namespace, self.dest, values)


class CommandParser(argparse.ArgumentParser):
    """A parser to which an option given twice is a mistake: one value would be lost."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.register("action", None, _StoreOnce)


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add which weights of a run to use, and how to search with them."""
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument(
        "--checkpoint",
        help="best (by validation score; the default), last, or a number of steps",
    )
    weights.add_argument(
        "--average",
        type=int,
        default=0,
        metavar="N",
        help="use the mean of the last N sets of weights instead (Section 6.1)",
    )
    weights.add_argument(
        "--average_steps",
        "--average-steps",
        type=_step_range,
        metavar="FIRST:LAST[:EVERY]",
        help="use the mean over these steps; without EVERY, of all that are kept there",
    )
    parser.add_argument("--beam_size", "--beam-size", type=int)
    parser.add_argument("--alpha", type=float, help="exponent of the length penalty")
    parser.add_argument(
        "--length_penalty", "--length-penalty", choices=get_args(LengthPenalty)
    )
    parser.add_argument(
        "--min_length",
        "--min-length",
        type=int,
        help="pieces that a translation has at least",
    )
    parser.add_argument(
        "--tokens_per_batch",
        "--tokens-per-batch",
        type=int,
        help="source pieces translated at a time; fewer take less memory",
    )


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
