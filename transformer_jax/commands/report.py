"""Print a report.

python -m transformer_jax report table3 --workdirs RUN ...

A table of the paper with our figures beside it, an estimate of the cost, a card for a
run, or the paper's conditions that a run meets.
"""

import argparse
from collections.abc import Callable

from transformer_jax.commands.messages import command
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.reports import (
    accelerator_rates,
    card,
    cost,
    field_list,
    reproduce,
    table1,
    table2,
    table3,
)
from transformer_jax.reports.render import Report, render

# name → help, and options → report; the card is written into a run instead.
_REPORTS: dict[str, tuple[str, Callable[[argparse.Namespace], Report]]] = {
    "table1": (
        "layer types: formulas, and self-attention as measured",
        lambda options: table1.make_report(),
    ),
    "table2": (
        "scores on newstest2014 and training cost",
        lambda options: table2.make_report(
            options.workdirs, options.accelerator, options.num_chips
        ),
    ),
    "table3": (
        "variations of the base model, and their parameters",
        lambda options: table3.make_report(options.workdirs),
    ),
    "cost": (
        "time and cost of the base run, estimated",
        lambda options: cost.make_report(),
    ),
    "accelerators": (
        "the rates that costs are counted with, and their sources",
        lambda options: accelerator_rates.make_report(),
    ),
    "fields": (
        "every field of a config: default, range and meaning",
        lambda options: field_list.make_report(),
    ),
    "reproduce": (
        "the paper's conditions, as met by runs or not",
        lambda options: reproduce.make_report(options.workdirs),
    ),
}
_CARD = {"card": "write RUN/README.md"}
# Reports that there are of runs alone.
_OF_RUNS = ("card", "reproduce")


def main() -> None:
    """Parse the arguments, and print."""
    options = _parse()
    with command("report"):
        if options.name in _CARD:
            for workdir in options.workdirs:
                print(f"Wrote {card.write_card(workdir)}")
            return
        _, make_report = _REPORTS[options.name]
        report = make_report(options)
        print(render(report, options.format))
        if options.name == "table1" and options.plot is not None:
            table1.save_plot(report, options.plot)


def _parse() -> argparse.Namespace:
    parser = CommandParser(
        prog=f"{PROGRAM} report",
        usage="%(prog)s REPORT [options]",
        description=__doc__,
    )
    reports = parser.add_subparsers(
        prog=parser.prog, required=True, dest="name", metavar="REPORT"
    )
    helps = {name: text for name, (text, _) in _REPORTS.items()} | _CARD
    for name, text in helps.items():
        report = reports.add_parser(
            name,
            usage=f"%(prog)s {'--workdirs RUN ... ' * (name in _OF_RUNS)}[options]",
            help=text,
            description=text,
        )
        if name in ("table2", "table3", "card", "reproduce"):
            report.add_argument(
                "--workdirs",
                nargs="+",
                action="extend",
                default=[],
                metavar="RUN",
                required=name in _OF_RUNS,
                help="runs, each the --workdir of a training",
            )
        if name not in _CARD:
            report.add_argument(
                "--format", choices=["markdown", "csv", "json"], default="markdown"
            )
        if name == "table1":
            report.add_argument("--plot", help="also draw into this .png or .svg file")
        if name == "table2":
            report.add_argument(
                "--accelerator",
                help="such as 'TPU v5e', if not what the runs wrote down",
            )
            report.add_argument(
                "--num_chips", type=int, metavar="N", help="how many of them"
            )
    return parser.parse_args()
