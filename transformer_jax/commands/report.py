"""Print a report: python -m transformer_jax.reports REPORT.

A table of the paper with our figures beside it, an estimate of the cost, a card for a
run, or the paper's conditions that a run meets.
"""

import argparse

from transformer_jax.commands.messages import command
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


def main() -> None:
    """Parse the arguments, and print."""
    options = _parse()
    with command("reports"):
        if options.name == "card":
            for workdir in options.workdirs:
                print(f"Wrote {card.write_card(workdir)}")
            return
        report = _make(options)
        print(render(report, options.format))
        if options.name == "table1" and options.plot is not None:
            table1.save_plot(report, options.plot)


def _make(options: argparse.Namespace) -> Report:
    if options.name == "table1":
        return table1.make_report()
    if options.name == "table2":
        return table2.make_report(
            options.workdirs, options.accelerator, options.num_chips
        )
    if options.name == "table3":
        return table3.make_report(options.workdirs)
    if options.name == "cost":
        return cost.make_report()
    if options.name == "accelerators":
        return accelerator_rates.make_report()
    if options.name == "fields":
        return field_list.make_report()
    return reproduce.make_report(options.workdirs)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m transformer_jax.reports", description=__doc__
    )
    reports = parser.add_subparsers(required=True, dest="name", metavar="REPORT")
    helps = {
        "table1": "layer types: formulas, and self-attention as measured",
        "table2": "scores on newstest2014 and training cost",
        "table3": "variations of the base model, and their parameters",
        "cost": "time and cost of the base run, estimated",
        "accelerators": "the rates that costs are counted with, and their sources",
        "fields": "every field of a config: default, range and meaning",
        "card": "write RUN/README.md",
        "reproduce": "the paper's conditions, as met by runs or not",
    }
    for name, text in helps.items():
        report = reports.add_parser(name, help=text, description=text)
        if name in ("table2", "table3", "card", "reproduce"):
            report.add_argument(
                "--workdirs",
                nargs="+",
                default=[],
                metavar="RUN",
                required=name in ("card", "reproduce"),
                help="runs, each the --workdir of a training",
            )
        if name != "card":
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
                "--num_chips", "--num-chips", type=int, help="how many of them"
            )
    return parser.parse_args()
