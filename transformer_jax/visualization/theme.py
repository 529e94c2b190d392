"""The look that all pictures share, and how they are written to disk."""

import contextlib
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from transformer_jax.errors import UserError
from transformer_jax.files import as_path, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Colours that stay apart for colour-blind readers (Okabe and Ito).
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#AA4499"
SKY, AMBER = "#56B4E9", "#E69F00"
INK, GREY = "#222222", "#757575"
# How lines of one picture stay apart where it is printed in grey, too.
_SERIES = (
    (BLUE, "o", "-"),
    (ORANGE, "s", "--"),
    (GREEN, "^", "-."),
    (PURPLE, "D", ":"),
    (SKY, "v", (0, (5, 1, 1, 1, 1, 1))),
    (AMBER, "X", (0, (1, 1))),
)

# Perceptually uniform, for values of either sign.
SIGNED_MAP = "viridis"

SUFFIXES = (".png", ".svg")

# Any: matplotlib names all its settings in a type of its own.
_SETTINGS: dict[Any, Any] = {
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 9,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#9a9a9a",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.02,
    "figure.constrained_layout.h_pad": 0.12,
    "figure.constrained_layout.w_pad": 0.12,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "xtick.color": "#9a9a9a",
    "xtick.labelcolor": INK,
    "ytick.color": "#9a9a9a",
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    # The same figure gives the same bytes; letters stay letters in an SVG.
    "svg.hashsalt": "transformer_jax",
    "svg.fonttype": "none",
}
# Björn Ottosson's OKLab: to cube roots of cone responses, and those to linear sRGB.
_OKLAB_TO_CONES = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_CONES_TO_LINEAR_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)
# DejaVu Sans comes with matplotlib; the others add scripts that it lacks.
_FONTS = ("DejaVu Sans", "Noto Sans CJK JP", "Noto Sans", "Arial Unicode MS")


@contextlib.contextmanager
def theme() -> Iterator[None]:
    """Draw with the project's look inside this context."""
    import matplotlib
    from matplotlib import font_manager

    known = set(font_manager.get_font_names())
    fonts = [name for name in _FONTS if name in known]
    with matplotlib.rc_context(_SETTINGS | {"font.family": fonts}):
        yield


def series(number: int) -> dict[str, Any]:
    """Return colour, marker and dashes of a picture's line, counted from 0."""
    color, marker, dashes = _SERIES[number]
    return {"color": color, "marker": marker, "linestyle": dashes, "markersize": 5}


def set_log_scale(axes: "Axes", which: Literal["x", "y"], base: int = 10) -> None:
    """Make an axis logarithmic, with plain numbers beside its ticks.

    matplotlib's own are formulas, which texts here are not read as.
    """
    from matplotlib import ticker

    getattr(axes, f"set_{which}scale")("log", base=base)
    axis = getattr(axes, f"{which}axis")
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(ticker.NullFormatter())


def weights_map() -> "Colormap":
    """Return a map from white at 0 to dark blue at 1, its lightness falling evenly.

    Equal steps of weight are equal steps of lightness in OKLab, so that no difference
    looks larger than it is; the hue turns from sky blue to a deep one.
    """
    from matplotlib.colors import ListedColormap

    share = np.linspace(0, 1, 256)
    lightness = 1.0 - 0.75 * share
    chroma = 0.135 * np.sin(0.88 * np.pi * share)
    hue = np.radians(235 + 33 * share)
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)])
    linear = _CONES_TO_LINEAR_RGB @ (_OKLAB_TO_CONES @ lab) ** 3
    linear = np.clip(linear, 0, 1)
    rgb = np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return ListedColormap(rgb.T, name="weights")


def check_suffix(path: str | pathlib.Path) -> pathlib.Path:
    """Return the path if a picture can be written there.

    Raises:
      UserError: for a suffix other than .png and .svg.
    """
    path = as_path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(
            f"The picture is to be written to {str(path)!r}, and its suffix says how. "
            f"End the name in {' or '.join(SUFFIXES)}."
        )
    return path


def save(figure: "Figure", path: str | pathlib.Path) -> pathlib.Path:
    """Write a figure as PNG or SVG by the suffix of `path`; make its folder.

    Raises:
      UserError: for another suffix, or if the file cannot be written.
    """
    path = check_suffix(path)
    kind = path.suffix.lower().removeprefix(".")
    metadata = {"Date": None} if kind == "svg" else {}
    with write_atomically(path) as file, theme():
        figure.savefig(file, format=kind, dpi=180, metadata=metadata, facecolor="white")
    return path
