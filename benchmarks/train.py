"""Time the training step: the package's, PyTorch's and Flax's example's, in turns.

python -m benchmarks.train [--model tiny|base|big] [--dtype bfloat16]
    [--flax_examples PATH] [--output benchmarks/results/NAME.json]

One random batch of one shape, on one device. `times_ours` is how many times as long as
ours a contestant's step takes, turn by turn. Utilisation counts the operations of the
model's products (transformer_jax/costs), against the chip's peak where it is known and
against a product of square matrices measured in turns with the rest. `--only_loss`
times the loss and its gradient alone.
"""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.records import add_record_arguments, record
from benchmarks.sizes import Sizes
from benchmarks.turns import (
    Contestant,
    Result,
    take_turns,
    timing_row,
    without_empty_columns,
)
from benchmarks.workloads import add_model_arguments, build, make_sizes
from transformer_jax.commands.huge_pages import has_accelerator
from transformer_jax.commands.messages import command
from transformer_jax.costs.accelerators import recognise
from transformer_jax.costs.flops import step_flops

PRODUCT = "product of matrices"
_OURS = "ours"
_PACKAGE = "benchmarks.workloads"
_PYTORCH = "benchmarks.peers.pytorch"
_HUGE_PAGES = "glibc.malloc.hugetlb=1"
# Rows and positions of a batch: on an accelerator, and on a CPU.
_SHAPES = {"tiny": ((256, 16),) * 2, "base": ((784, 32), (32, 32))}
_SHAPES["big"] = _SHAPES["base"]


def main() -> None:
    """Measure and record."""
    options = _parse()
    with command("benchmarks.train"):
        sizes = _sizes(options)
        contestants = _contestants(options, sizes)
        results = take_turns(
            contestants, options.turns, prepare_seconds=options.prepare_seconds
        )
        results[0].require()
        rows = make_rows(results, None if options.only_loss else sizes)
        record(options, _describe(options, sizes), rows, results[0].device)


def make_rows(results: Sequence[Result], sizes: Sizes | None) -> list[dict[str, Any]]:
    """Return a row for each contestant.

    Args:
      results: of all contestants, the package's first, the product of matrices last.
      sizes: of model and batch; None where no model was trained.
    """
    ours, product = results[0], results[-1]
    flops = product_rate = None
    if sizes is not None:
        lengths = (sizes.length,) * 2
        flops = step_flops(build(sizes)[1], sizes.rows, *lengths)
        if product.name == PRODUCT and product.seconds:
            product_rate = product.facts["flops"] / product.median
    chip = recognise(ours.facts.get("device_kind", ""))
    rows = []
    for result in results:
        if result.name == PRODUCT:
            row = timing_row(result, result)
            row["tflops"] = product_rate and product_rate / 1e12
        else:
            row = timing_row(result, ours)
        if sizes is not None and flops and result.seconds and result.name != PRODUCT:
            rate = flops / result.median
            row |= {
                "target_tokens_s": sizes.num_tokens / result.median,
                "tflops": rate / 1e12,
                "of_peak": chip and rate / chip.peak,
                "of_product": product_rate and rate / product_rate,
            }
        for name in ("compile_seconds", "programs", "peak_gib", "loss"):
            row[name] = result.facts.get(name)
        rows.append(row)
    return without_empty_columns(rows)


def _contestants(options: argparse.Namespace, sizes: Sizes) -> list[Contestant]:
    arguments = {"sizes": dataclasses.asdict(sizes), "steps": options.steps}
    if options.only_loss:
        prepare, is_cpu = "prepare_loss", False
    else:
        prepare, is_cpu = "prepare_training", not has_accelerator()
    changes = {"attention_implementation": options.attention}
    ours = arguments | ({"model_changes": changes} if options.attention else {})

    def eager(name: str, environment: Mapping[str, str]) -> Contestant:
        eagerly = arguments | {"is_compiled": False}
        return Contestant(name, f"{_PYTORCH}:{prepare}", eagerly, environment)

    contestants = [
        Contestant(_OURS, f"{_PACKAGE}:{prepare}", ours, {}, is_program=True)
    ]
    if is_cpu:
        off = {"TRANSFORMER_JAX_HUGE_PAGES": "off"}
        without = Contestant(
            "ours, no huge pages", f"{_PACKAGE}:{prepare}", ours, off, is_program=True
        )
        contestants += [
            without,
            eager("PyTorch eager, huge pages", {"GLIBC_TUNABLES": _HUGE_PAGES}),
        ]
    contestants += [
        eager("PyTorch eager", {}),
        Contestant(
            "torch.compile",
            f"{_PYTORCH}:{prepare}",
            arguments | {"is_compiled": True},
        ),
    ]
    if not options.only_loss and has_accelerator():
        by_layer = ours | {"is_stacked": False}
        contestants.append(
            Contestant(
                "ours, layer by layer",
                f"{_PACKAGE}:{prepare}",
                by_layer,
                is_program=True,
            )
        )
    if options.flax_examples:
        example = arguments | {"examples": options.flax_examples}
        contestants.append(
            Contestant(
                "Flax's WMT example",
                "benchmarks.peers.flax_wmt:prepare_training",
                example,
            )
        )
    if not options.only_loss:
        product = {
            "dtype": options.dtype,
            "size": 8192 if has_accelerator() else 1024,
            "repetitions": 20,
        }
        contestants.append(Contestant(PRODUCT, f"{_PACKAGE}:prepare_product", product))
    if options.only is None:
        return contestants
    chosen = {_OURS, PRODUCT, *options.only}
    return [c for c in contestants if c.name in chosen]


def _sizes(options: argparse.Namespace) -> Sizes:
    rows, length = _SHAPES[options.model][0 if has_accelerator() else 1]
    return make_sizes(
        options.model,
        dtype=options.dtype,
        rows=options.rows or rows,
        length=options.length or length,
        vocab_size=options.vocab_size,
        layers=options.layers,
    )


def _describe(options: argparse.Namespace, sizes: Sizes) -> str:
    what = "loss and its gradient" if options.only_loss else f"training {sizes.model}"
    return (
        f"{what}, {sizes.dtype}, a step of {sizes.rows} x {sizes.length} positions, "
        f"V = {sizes.vocab_width}, median of {options.turns} turns of "
        f"{options.steps} steps"
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_model_arguments(parser)
    parser.add_argument("--rows", type=int, help="sentence pairs of a batch")
    parser.add_argument("--length", type=int, help="positions of a row, either side")
    parser.add_argument("--attention", help="model.attention_implementation of ours")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5, help="of a turn")
    parser.add_argument("--prepare_seconds", type=float, default=600.0)
    parser.add_argument("--only_loss", action="store_true")
    parser.add_argument("--flax_examples", metavar="PATH", help="of a checkout of Flax")
    add_record_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
