"""Pictures of position encodings (Section 3.5) and of attention weights (3.2)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transformer_jax.errors import UserError
from transformer_jax.models.positions import SinusoidLayout, sinusoidal_positions
from transformer_jax.visualization import theme
from transformer_jax.visualization.attention_maps import KINDS, AttentionMaps, Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_TITLES = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
}
_ROWS = {
    "encoder": "source piece that looks",
    "decoder": "target piece being written",
    "cross": "target piece being written",
}
_COLUMNS = {
    "encoder": "source piece looked at",
    "decoder": "target piece read before",
    "cross": "source piece looked at",
}
_LARGEST = 24.0  # inches, of a figure; longer sentences get smaller letters


def plot_positions(
    d_model: int, length: int, layout: SinusoidLayout = "interleaved"
) -> "Figure":
    """Draw the sinusoidal encodings as a map, and some of its rows as waves.

    Args:
      d_model: width of the encodings, even.
      length: number of positions, from 0.
      layout: see `sinusoidal_positions`.

    Raises:
      UserError: if a size cannot be drawn.
    """
    from matplotlib.figure import Figure

    if d_model < 2 or d_model % 2 or length < 2:
        raise UserError(
            f"Positions of d_model={d_model} and length={length} cannot be drawn. Give "
            "an even d_model of 2 or more and a length of 2 or more."
        )
    encodings = sinusoidal_positions(length, d_model, layout)
    dimensions = np.arange(d_model)
    is_sine = (
        dimensions % 2 == 0 if layout == "interleaved" else dimensions < d_model / 2
    )
    sines, cosines = dimensions[is_sine], dimensions[~is_sine]
    with theme.theme():
        figure = Figure((8.5, 9), layout="constrained")
        panels = figure.subplots(3, 1, sharex=True, height_ratios=(3, 3, 2))
        _draw_position_map(panels[0], encodings, sines, "Sines")
        image = _draw_position_map(panels[1], encodings, cosines, "Cosines")
        bar = figure.colorbar(image, ax=panels[:2], ticks=(-1, 0, 1), aspect=40)
        bar.set_label("value")
        bar.outline.set_visible(False)
        _draw_waves(panels[2], encodings, sines)
        panels[2].set_xlabel("position (pieces from the start of the sentence)")
        panels[2].set_xlim(-0.5, length - 0.5)
        figure.suptitle(
            f"Sinusoidal position encodings, d_model = {d_model}, layout {layout}",
            fontsize=12,
            fontweight="bold",
        )
    return figure


def _draw_position_map(
    axes: "Axes", encodings: np.ndarray, dimensions: np.ndarray, title: str
) -> "AxesImage":
    """Draw some dimensions of [length, d_model] downwards, positions to the right."""
    half_row = (dimensions[-1] - dimensions[0]) / max(1, len(dimensions) - 1) / 2
    image = axes.imshow(
        encodings[:, dimensions].T,
        aspect="auto",
        interpolation="nearest",
        cmap=theme.SIGNED_MAP,
        vmin=-1,
        vmax=1,
        extent=(
            -0.5,
            len(encodings) - 0.5,
            dimensions[-1] + max(half_row, 0.5),
            dimensions[0] - max(half_row, 0.5),
        ),
    )
    axes.grid(False)
    axes.set_title(title)
    axes.set_ylabel("dimension")
    return image


def _draw_waves(axes: "Axes", encodings: np.ndarray, sines: np.ndarray) -> None:
    """Draw four of the faster sines of [length, d_model] against position."""
    chosen = dict.fromkeys(len(sines) * share // 16 for share in (0, 2, 4, 7))
    colors = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.PURPLE)
    for index, color in zip(chosen, colors, strict=False):
        dimension = sines[index]
        axes.plot(encodings[:, dimension], color=color, label=f"dimension {dimension}")
    axes.set_title("Waves")
    axes.set_ylabel("value")
    axes.set_yticks((-1, 0, 1))
    axes.set_ylim(-1.1, 1.1)
    # Beside the title, where no wave passes.
    axes.legend(loc="lower right", bbox_to_anchor=(1.01, 0.96), ncols=4, fontsize=9)


def plot_attention(
    maps: AttentionMaps,
    kind: Kind,
    *,
    layer: int | None = None,
    head: int | None = None,
) -> "Figure":
    """Draw the attention weights of one head, or of all heads of one layer.

    Args:
      maps: as `collect_attention` returns them.
      kind: "encoder" and "decoder" self-attention, or "cross".
      layer: counted from 1 as in the paper; None means the last.
      head: counted from 1; None means all, in a grid.

    Raises:
      UserError: if there is no such layer or head, or the model has no such attention.
    """
    if kind not in KINDS:
        raise UserError(f"kind={kind!r} is none of {', '.join(KINDS)}. Choose one.")
    if kind not in maps.weights:
        raise UserError(
            f"kind={kind!r}: the model has no such attention. Choose "
            f"{' or '.join(maps.weights)}."
        )
    num_layers, num_heads = maps.weights[kind].shape[:2]
    layer = num_layers if layer is None else layer
    _check_number("layer", layer, num_layers)
    title = f"{_TITLES[kind]}, layer {layer} of {num_layers}"
    if head is not None:
        _check_number("head", head, num_heads)
        title += f", head {head} of {num_heads}"
    heads = list(range(1, num_heads + 1)) if head is None else [head]
    with theme.theme():
        return _draw_heads(maps, kind, layer, heads, title)


def _check_number(name: str, number: int, count: int) -> None:
    """Refuse a layer or head that does not exist."""
    if not 1 <= number <= count:
        raise UserError(
            f"There is no {name} {number}: {name}s are counted from 1 to {count}."
        )


def _draw_heads(
    maps: AttentionMaps, kind: Kind, layer: int, heads: Sequence[int], title: str
) -> "Figure":
    """Draw a grid of heads whose outer edges alone carry the pieces."""
    from matplotlib.figure import Figure

    query_length, key_length = maps.weights[kind].shape[2:]
    num_columns = _choose_columns(len(heads))
    num_rows = len(heads) // num_columns
    piece = 0.27 if len(heads) == 1 else 0.2  # inches
    width = num_columns * (piece * key_length + 0.3) + 2.2
    height = num_rows * (piece * query_length + 0.5) + 1.6
    shrink = min(1.0, _LARGEST / max(width, height))
    size = (max(5.0, width * shrink), max(3.4, height * shrink))
    figure = Figure(size, layout="constrained")
    grid = figure.subplots(num_rows, num_columns, squeeze=False)
    for index, (axes, head) in enumerate(zip(grid.flat, heads, strict=True)):
        image = _draw_weights(axes, maps.weights[kind][layer - 1, head - 1])
        is_left = index % num_columns == 0
        is_lowest = index >= len(heads) - num_columns
        _name_pieces(
            axes,
            rows=maps.query_pieces(kind) if is_left else (),
            columns=maps.key_pieces(kind) if is_lowest else (),
            font_size=piece * 35 * shrink,
        )
        if len(heads) > 1:
            axes.set_title(f"head {head}", fontsize=10, loc="center", pad=5)
    _name_axes(figure, grid, _COLUMNS[kind], _ROWS[kind])
    figure.suptitle(title, fontsize=12, fontweight="bold")
    bar = figure.colorbar(image, ax=grid, ticks=(0, 0.5, 1), shrink=0.7, aspect=25)
    bar.set_label("attention weight")
    bar.outline.set_edgecolor("#c8c8c8")
    return figure


def _choose_columns(num_heads: int) -> int:
    """Return the columns of a full grid that is as wide as high, or wider."""
    return next(
        columns
        for columns in range(1, num_heads + 1)
        if num_heads % columns == 0 and columns**2 >= num_heads
    )


def _name_axes(figure: "Figure", grid: np.ndarray, columns: str, rows: str) -> None:
    """Say what rows and columns are, once for all heads."""
    if grid.size == 1:
        grid[0, 0].set_xlabel(columns, labelpad=8)
        grid[0, 0].set_ylabel(rows, labelpad=8)
    else:
        figure.supxlabel(columns, fontsize=10)
        figure.supylabel(rows, fontsize=10)


def _draw_weights(axes: "Axes", weights: np.ndarray) -> "AxesImage":
    """Draw [query_length, key_length] as squares, one scale for all pictures."""
    image = axes.imshow(weights, cmap=theme.weights_map(), vmin=0, vmax=1)
    axes.grid(False)
    axes.spines[:].set(visible=True, color="#c8c8c8")
    axes.tick_params(length=0)
    return image


def _name_pieces(
    axes: "Axes", rows: Sequence[str], columns: Sequence[str], font_size: float
) -> None:
    """Write word pieces beside the rows and below the columns."""
    axes.set_yticks(range(len(rows)), rows, fontsize=font_size)
    axes.set_xticks(range(len(columns)), columns, fontsize=font_size, rotation=90)
