"""Time beam search: the package's, CTranslate2's and transformers' `generate`.

python -m benchmarks.decode [--model tiny|base] [--beam_size 1]
    [--output benchmarks/results/NAME.json]

Random weights of equal sizes, 8000 pieces, 128 sentences of 15 pieces and an end mark,
24 tokens forced for each: with 4 hypotheses a sentence, steps of 512. A step's time is
a whole batch's, encoder and host included, over 24. `times_ours` is how many times as
long as ours a contestant takes, turn by turn.
"""

import argparse
import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from benchmarks.hardware import has_cuda
from benchmarks.records import add_record_arguments, record
from benchmarks.sizes import Sizes
from benchmarks.turns import (
    Contestant,
    Result,
    take_turns,
    timing_row,
    without_empty_columns,
)
from benchmarks.workloads import add_model_arguments, make_sizes
from transformer_jax.commands.messages import command

_OURS = "ours"
_CTRANSLATE2 = "benchmarks.peers.ctranslate2_model:prepare_decoding"
_MARIAN = "benchmarks.peers.transformers_marian:prepare_decoding"
_LENGTH = 16  # Source positions, the end mark's included: the translator's first shape.


def main() -> None:
    """Measure and record."""
    options = _parse()
    with command("benchmarks.decode"):
        sizes = make_sizes(
            options.model,
            dtype=options.dtype,
            rows=options.sentences,
            length=_LENGTH,
            vocab_size=options.vocab_size,
            layers=options.layers,
        )
        results = take_turns(_contestants(options, sizes), options.turns)
        results[0].require()
        work = (
            f"decoding {options.model}, {options.dtype}, beam {options.beam_size}, "
            f"{options.sentences} sentences of {options.num_tokens} tokens, "
            f"V = {options.vocab_size}, median of {options.turns} turns"
        )
        rows = make_rows(
            results, sentences=options.sentences, num_tokens=options.num_tokens
        )
        record(options, work, rows, results[0].device)


def make_rows(
    results: Sequence[Result], *, sentences: int, num_tokens: int
) -> list[dict[str, Any]]:
    """Return a row for each contestant, the package's first."""
    rows = []
    for result in results:
        row = timing_row(result, results[0])
        if result.seconds:
            row["sentences_s"] = sentences / (num_tokens * result.median)
        for name in ("compile_seconds", "programs", "peak_gib"):
            row[name] = result.facts.get(name)
        rows.append(row)
    return without_empty_columns(rows)


def _contestants(options: argparse.Namespace, sizes: Sizes) -> list[Contestant]:
    arguments = {
        "sizes": dataclasses.asdict(sizes),
        "beam_size": options.beam_size,
        "num_tokens": options.num_tokens,
    }
    contestants = [
        Contestant(_OURS, "benchmarks.workloads:prepare_decoding", arguments, {}, True)
    ]
    narrow = "bfloat16" if has_cuda() else "float32"
    for compute_type in (narrow, f"int8_{narrow}"):
        contestants.append(
            Contestant(
                f"CTranslate2 {compute_type}".replace("int8_float32", "int8"),
                _CTRANSLATE2,
                arguments
                | {
                    "compute_type": compute_type,
                    "num_threads": len(os.sched_getaffinity(0)),
                },
            )
        )
    contestants.append(Contestant("transformers' generate", _MARIAN, arguments))
    if options.only is None:
        return contestants
    return [c for c in contestants if c.name in {_OURS, *options.only}]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_model_arguments(parser, vocab_size=8_000)
    parser.add_argument("--beam_size", type=int, default=4)
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--num_tokens", type=int, default=24)
    parser.add_argument("--turns", type=int, default=7)
    add_record_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
