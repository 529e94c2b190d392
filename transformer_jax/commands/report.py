"""Print a report.

python -m transformer_jax report table3 --workdirs RUN ...

A table of the paper with our figures beside it, an estimate of the cost, a card for a
run, or the paper's conditions that a run meets.
"""

import argparse
from collections.abc import Callable
from typing import get_args

from transformer_jax.commands.messages import command
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.reports import (
    accelerator_rates,
    bert,
    card,
    cost,
    field_list,
    reproduce,
    sizes,
    table1,
    table2,
    table3,
)
from transformer_jax.reports.render import Format, Report, render
from transformer_jax.visualization import theme


def _report_cost(options: argparse.Namespace) -> Report:
    if not options.workdirs:
        return cost.make_report()
    return cost.report_runs(
        options.workdirs,
        options.accelerator,
        options.num_chips,
        options.dollars_per_device_hour,
    )


# name → help, and options → report; the card is written into a run instead.
_REPORTS: dict[str, tuple[str, Callable[[argparse.Namespace], Report]]] = {
    "table1": (
        "layer types: formulas, and the layers here as measured",
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
    "bert": (
        "the eleven tasks of BERT's paper, and how to run them",
        lambda options: bert.make_report(options.workdirs),
    ),
    "cost": (
        "time and cost: of the base run, estimated, or of runs",
        _report_cost,
    ),
    "accelerators": (
        "the rates that costs are counted with, and their sources",
        lambda options: accelerator_rates.make_report(),
    ),
    "sizes": (
        "parameters of every system, by formula and as counted",
        lambda options: sizes.make_report(options.workdirs),
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
        if plot := getattr(options, "plot", None):
            theme.check_suffix(plot)
        if options.name in _CARD:
            for workdir in options.workdirs:
                print(f"Wrote {card.write_card(workdir)}")
            return
        _, make_report = _REPORTS[options.name]
        report = make_report(options)
        print(render(report, options.format))
        if plot:
            with theme.theme():
                figure = table1.draw(report.parts[-1].rows)
            theme.save(figure, plot)


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
        _add_arguments(report, name)
    options = parser.parse_args()
    about_runs = ("accelerator", "num_chips", "dollars_per_device_hour")
    given = [name for name in about_runs if getattr(options, name, None) is not None]
    if given and not options.workdirs:
        parser.error(f"--{given[0]} is about runs: name them with --workdirs")
    return options


def _add_arguments(report: argparse.ArgumentParser, name: str) -> None:
    """Add the options of the report of a name."""
    if name in ("table2", "table3", "bert", "cost", "card", "reproduce", "sizes"):
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
            "--format",
            choices=get_args(Format),
            default="table",
            help="how to print",
        )
    if name == "table1":
        report.add_argument("--plot", help="also draw into this .png or .svg file")
    if name in ("table2", "cost"):
        report.add_argument(
            "--accelerator",
            help="such as 'TPU v5e', if not what the runs wrote down",
        )
        report.add_argument(
            "--num_chips", type=int, metavar="N", help="how many of them"
        )
    if name == "cost":
        report.add_argument(
            "--dollars_per_device_hour",
            type=float,
            metavar="PRICE",
            help="of the runs' devices, if not the assumed one",
        )
