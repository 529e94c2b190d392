"""Draw a picture; the suffix of --output chooses between PNG and SVG.

python -m transformer_jax plot curves --workdir RUN --output curves.png
python -m transformer_jax plot attention --workdir RUN --source "..." --output a.png
python -m transformer_jax plot positions --d_model 128 --output positions.svg
"""

import argparse
from typing import get_args

from transformer_jax.commands.arguments import (
    add_model_arguments,
    decoding_options,
    weight_options,
)
from transformer_jax.commands.messages import command
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.files import as_path
from transformer_jax.models.positions import SinusoidLayout
from transformer_jax.visualization import attention_maps, curves, plots, theme


def main() -> None:
    """Parse the arguments, draw, and say where the picture lies."""
    options = _parse()
    with command("plot"):
        theme.check_suffix(options.output)
        options.draw(options)
        print(f"Wrote {options.output}")


def _draw_curves(options: argparse.Namespace) -> None:
    name = as_path(options.workdir).resolve().name
    figure = curves.plot_curves(curves.read_metrics(options.workdir), title=name)
    theme.save(figure, options.output)


def _draw_positions(options: argparse.Namespace) -> None:
    figure = plots.plot_positions(options.d_model, options.length, options.layout)
    theme.save(figure, options.output)


def _draw_attention(options: argparse.Namespace) -> None:
    # Imported here: the other pictures need no checkpoint, and so no Orbax.
    from transformer_jax.runs.trained_run import load_run

    run = load_run(options.workdir, **weight_options(options))
    target = options.target
    if target is None and run.parts.task.can_translate:
        translator = run.translator(**decoding_options(options))
        target = translator.translate([options.source])[0].text
        print(f"translation: {target}")
    maps = attention_maps.collect_attention(run, options.source, target)
    figure = plots.plot_attention(
        maps, options.kind, layer=options.layer, head=options.head
    )
    theme.save(figure, options.output)


def _parse() -> argparse.Namespace:
    parser = CommandParser(
        prog=f"{PROGRAM} plot",
        usage="%(prog)s curves|positions|attention --output FILE [options]",
        description=__doc__,
    )
    pictures = parser.add_subparsers(
        prog=parser.prog, required=True, metavar="curves|positions|attention"
    )
    for name, words, text, add_arguments in (
        (
            "curves",
            "--workdir RUN --output FILE",
            "loss, learning rate and scores of a run",
            _add_curves_arguments,
        ),
        (
            "positions",
            "--output FILE [options]",
            "sinusoidal encodings (3.5)",
            _add_positions_arguments,
        ),
        (
            "attention",
            "--workdir RUN --source TEXT --output FILE [options]",
            "who looks at whom in a sentence",
            _add_attention_arguments,
        ),
    ):
        picture = pictures.add_parser(
            name, usage=f"%(prog)s {words}", help=text, description=text
        )
        add_arguments(picture)
        picture.add_argument(
            "--output", required=True, metavar="FILE", help="a .png or .svg file"
        )
    return parser.parse_args()


def _add_curves_arguments(picture: argparse.ArgumentParser) -> None:
    picture.add_argument(
        "--workdir",
        required=True,
        metavar="RUN",
        help="the run, trained or in training",
    )
    picture.set_defaults(draw=_draw_curves)


def _add_positions_arguments(picture: argparse.ArgumentParser) -> None:
    picture.add_argument(
        "--d_model", type=int, default=512, metavar="N", help="512 if left out"
    )
    picture.add_argument(
        "--length", type=int, default=64, metavar="N", help="number of positions"
    )
    picture.add_argument(
        "--layout", choices=get_args(SinusoidLayout), default="interleaved"
    )
    picture.set_defaults(draw=_draw_positions)


def _add_attention_arguments(picture: argparse.ArgumentParser) -> None:
    picture.add_argument(
        "--workdir", required=True, metavar="RUN", help="the run whose model looks"
    )
    picture.add_argument("--source", required=True, metavar="TEXT", help="a sentence")
    picture.add_argument(
        "--target", metavar="TEXT", help="its translation; left out: the model's own"
    )
    picture.add_argument("--kind", choices=attention_maps.KINDS, default="cross")
    picture.add_argument(
        "--layer", type=int, metavar="N", help="counted from 1; left out: the last one"
    )
    picture.add_argument(
        "--head",
        type=_number_or_all,
        metavar="N",
        help="counted from 1, or all (when left out)",
    )
    add_model_arguments(picture)
    picture.set_defaults(draw=_draw_attention)


def _number_or_all(text: str) -> int | None:
    """Read a head's number, or None for all."""
    try:
        return None if text == "all" else int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number, nor all") from error
