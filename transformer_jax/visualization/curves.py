"""How a training run went: losses, learning rate and validation scores over steps."""

import pathlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from transformer_jax.errors import UserError
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.visualization.theme import BLUE, GREEN, GREY, ORANGE, PURPLE, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Above this many points a curve is drawn pale, with its moving average over it.
_MANY_POINTS = 100
# Of text, in per cent, and of classes and tokens, as shares.
_SCORES = {
    "sacrebleu": ("sacreBLEU", BLUE),
    "chrf": ("chrF2", GREEN),
    "paper_bleu": ("paper's BLEU", ORANGE),
    "tokenised_lowercase_bleu": ("lower-cased tokenised BLEU", PURPLE),
}
_SHARES = {
    "accuracy": ("accuracy", BLUE),
    "f1": ("F1", GREEN),
    "matthews": ("Matthews's correlation", PURPLE),
    "next_sentence_accuracy": ("accuracy of the next sentence", PURPLE),
    "unigram_accuracy": ("always the most frequent", GREY),
}


class Curve(NamedTuple):
    """One quantity over training.

    Attributes:
      steps: [num_points], rising.
      values: [num_points] float64, all finite.
    """

    steps: np.ndarray
    values: np.ndarray


# Curves by name, by split ("train", "validation").
Metrics = Mapping[str, Mapping[str, Curve]]


def read_metrics(workdir: str | pathlib.Path) -> dict[str, dict[str, Curve]]:
    """Read what a run noted of its training, step by step.

    Of two rows of one step the later one counts; what is not finite is passed over.

    Returns:
      Curves by name, by split.

    Raises:
      UserError: if the file is missing or holds no usable line.
    """
    directory = RunDirectory(workdir)
    path = directory.metrics_path
    if not path.is_file():
        raise UserError(f"There is no {path}. {directory.advice}")
    points: dict[str, dict[str, dict[int, float]]] = {}
    for row in directory.read_metrics():
        for name, value in row.items():
            split, _, quantity = name.partition("/")
            if quantity and isinstance(value, int | float) and np.isfinite(value):
                curves = points.setdefault(split, {})
                curves.setdefault(quantity, {})[row["step"]] = float(value)
    if not points:
        raise UserError(f"{path} holds no metrics yet. Let the run take some steps.")
    return {
        split: {name: _to_curve(curve) for name, curve in curves.items()}
        for split, curves in points.items()
    }


def _to_curve(points: Mapping[int, float]) -> Curve:
    steps = sorted(points)
    return Curve(np.array(steps), np.array([points[step] for step in steps]))


def plot_curves(metrics: Metrics, title: str = "") -> "Figure":
    """Draw a panel each for loss, learning rate, perplexity and scores.

    A panel without data is left out. The step axis counts updates, as checkpoints do.

    Args:
      metrics: as `read_metrics` returns them.
      title: printed above all panels, the run's name for instance.

    Raises:
      UserError: if there is nothing to draw.
    """
    from matplotlib.figure import Figure

    panels = _choose_panels(metrics)
    if not panels:
        raise UserError(
            "The metrics hold neither a loss nor a learning rate, a perplexity or a "
            "score. Let the run take some steps."
        )
    num_columns = min(2, len(panels))
    num_rows = -(-len(panels) // num_columns)
    with theme():
        figure = Figure((5.6 * num_columns, 3.3 * num_rows), layout="constrained")
        grid = figure.subplots(num_rows, num_columns, squeeze=False)
        last_step = max(
            curve.steps[-1] for curves in metrics.values() for curve in curves.values()
        )
        for axes, draw in zip(grid.flat, panels, strict=False):
            draw(axes, metrics)
            axes.set_xlabel("step (updates taken)")
            axes.set_xlim(0, max(1, last_step) * 1.02)
            axes.xaxis.set_major_locator(_step_locator())
            axes.xaxis.set_major_formatter(_format_step)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def _choose_panels(metrics: Metrics) -> list[Callable[["Axes", Metrics], None]]:
    """Return the functions that have something to draw."""
    train, validation = metrics.get("train", {}), metrics.get("validation", {})
    panels: list[Callable[[Axes, Metrics], None]] = []
    if "loss" in train or "loss" in validation:
        panels.append(_draw_loss)
    if "learning_rate" in train:
        panels.append(_draw_learning_rate)
    if "perplexity" in validation:
        panels.append(_draw_perplexity)
    if validation.keys() & _SCORES.keys():
        panels.append(_draw_scores)
    elif validation.keys() & _SHARES.keys():
        panels.append(_draw_shares)
    return panels


def _draw_loss(axes: "Axes", metrics: Metrics) -> None:
    """Draw training and validation loss in one panel."""
    train = metrics.get("train", {}).get("loss")
    validation = metrics.get("validation", {}).get("loss")
    if train is not None:
        _draw_smoothed(axes, train, BLUE, "training")
    detail = ""
    if validation is not None:
        _draw_points(axes, validation, ORANGE, "validation")
        best = int(np.argmin(validation.values))
        detail = _best("lowest validation", validation, best, ".3f")
    _set_titles(axes, "Loss", detail)
    axes.set_ylabel("loss (nats per prediction)")
    axes.legend()


def _draw_learning_rate(axes: "Axes", metrics: Metrics) -> None:
    """Draw the schedule with its power of ten in the label (Section 5.3)."""
    curve = metrics["train"]["learning_rate"]
    peak = int(np.argmax(curve.values))
    top = curve.values[peak]
    exponent = int(np.floor(np.log10(top))) if top > 0 else 0
    axes.plot(curve.steps, curve.values / 10.0**exponent, color=BLUE)
    axes.set_ylim(bottom=0)
    power = f"\u00d7 10{_superscript(exponent)}"
    axes.set_ylabel(f"learning rate ({power})")
    detail = f"highest {top / 10.0**exponent:.2f} {power} at step {curve.steps[peak]:,}"
    _set_titles(axes, "Learning rate", detail)


def _draw_perplexity(axes: "Axes", metrics: Metrics) -> None:
    """Draw validation perplexity on a logarithmic axis."""
    from matplotlib import ticker

    curve = metrics["validation"]["perplexity"]
    _draw_points(axes, curve, ORANGE, "validation")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.set_ylabel("perplexity per word piece")
    best = _best("lowest", curve, int(np.argmin(curve.values)), ".2f")
    _set_titles(axes, "Validation perplexity", best)


def _draw_scores(axes: "Axes", metrics: Metrics) -> None:
    """Draw every validation score of text that was computed."""
    _draw_named(axes, metrics["validation"], _SCORES)


def _draw_shares(axes: "Axes", metrics: Metrics) -> None:
    """Draw what validation found of classes or hidden tokens."""
    shares = {
        name: curve._replace(values=100 * curve.values)
        for name, curve in metrics["validation"].items()
        if name in _SHARES
    }
    _draw_named(axes, shares, _SHARES)


def _draw_named(
    axes: "Axes", curves: Mapping[str, Curve], looks: Mapping[str, tuple[str, str]]
) -> None:
    """Draw the scores that `looks` has a label and a color for; the first is named."""
    names = [name for name in looks if name in curves]
    for name in names:
        label, color = looks[name]
        _draw_points(axes, curves[name], color, label)
    first = curves[names[0]]
    best = int(np.argmax(first.values))
    axes.set_ylim(bottom=min(0.0, *(curves[name].values.min() for name in names)))
    axes.set_ylabel("score (per cent)")
    label = looks[names[0]][0]
    _set_titles(axes, "Validation scores", _best(f"best {label}", first, best, ".2f"))
    axes.legend()


def _draw_smoothed(axes: "Axes", curve: Curve, color: str, label: str) -> None:
    """Draw a noisy curve pale and its moving average over it."""
    steps, values = curve
    if len(steps) > _MANY_POINTS:
        axes.plot(steps, values, color=color, alpha=0.35, linewidth=0.8)
        width = len(steps) // (_MANY_POINTS // 2)
        values = np.convolve(values, np.full(width, 1 / width), mode="valid")
        steps = np.convolve(steps, np.full(width, 1 / width), mode="valid")
    axes.plot(steps, values, color=color, label=label)


def _draw_points(axes: "Axes", curve: Curve, color: str, label: str) -> None:
    """Draw a curve of few points, each of them marked."""
    size = 4.5 if len(curve.steps) <= 40 else 0
    axes.plot(*curve, color=color, label=label, marker="o", markersize=size)


def _set_titles(axes: "Axes", title: str, detail: str) -> None:
    """Put what is shown on the left and the figure to remember on the right."""
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_title(detail, loc="right", color=GREY, fontsize=9)


def _best(word: str, curve: Curve, index: int, form: str) -> str:
    """Name one point of a curve."""
    return f"{word} {curve.values[index]:{form}} at step {curve.steps[index]:,}"


def _superscript(number: int) -> str:
    """Write an exponent with raised digits."""
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _step_locator() -> object:
    """Return ticks at few round steps, none between two updates."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10], integer=True)


def _format_step(step: float, _: int) -> str:
    """Write a step short: 500, 2,000, 100k."""
    return f"{step / 1000:,g}k" if step >= 10_000 else f"{step:,g}"
