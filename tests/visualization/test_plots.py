"""Pictures hold the numbers, the words and the form that they claim."""

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure

from transformer_jax.errors import UserError
from transformer_jax.models.positions import sinusoidal_positions
from transformer_jax.visualization import plots, theme
from transformer_jax.visualization.attention_maps import AttentionMaps


@pytest.fixture
def maps():
    rng = np.random.default_rng(0)
    shapes = {"encoder": (2, 6, 3, 3), "decoder": (3, 4, 5, 5), "cross": (3, 4, 5, 3)}
    return AttentionMaps(
        {kind: rng.random(shape, np.float32) for kind, shape in shapes.items()},
        source_pieces=("a", "$b$", "</s>"),
        read_pieces=("<s>", "v", "w", "x", "y"),
        written_pieces=("v", "w", "x", "y", "</s>"),
    )


def _labels(ticks):
    return [label.get_text() for label in ticks]


def test_one_head_is_drawn_with_its_pieces(maps):
    figure = plots.plot_attention(maps, "cross", layer=2, head=3)
    axes = figure.axes[0]
    np.testing.assert_array_equal(
        axes.images[0].get_array(), maps.weights["cross"][1, 2]
    )
    assert axes.images[0].get_clim() == (0, 1)
    assert _labels(axes.get_yticklabels()) == list(maps.written_pieces)
    assert _labels(axes.get_xticklabels()) == list(maps.source_pieces)
    assert figure.get_suptitle() == "Cross-attention, layer 2 of 3, head 3 of 4"
    assert axes.get_xlabel() and axes.get_ylabel()


def test_all_heads_of_the_last_layer_are_drawn_when_none_is_named(maps):
    figure = plots.plot_attention(maps, "encoder")
    heads = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in heads] == [f"head {i}" for i in range(1, 7)]
    for axes, weights in zip(heads, maps.weights["encoder"][1], strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), weights)
    # Three columns: pieces stand at the left and lower edges alone.
    assert [bool(_labels(a.get_yticklabels())) for a in heads] == [
        True,
        False,
        False,
    ] * 2
    assert [bool(_labels(a.get_xticklabels())) for a in heads] == [False] * 3 + [
        True
    ] * 3


def test_the_decoder_reads_down_to_the_piece_before(maps):
    axes = plots.plot_attention(maps, "decoder", head=1).axes[0]
    assert _labels(axes.get_xticklabels()) == list(maps.read_pieces)
    assert _labels(axes.get_yticklabels()) == list(maps.written_pieces)


@pytest.mark.parametrize(
    ("kind", "choice", "message"),
    [
        ("cross", {"layer": 4}, "no layer 4: layers are counted from 1 to 3"),
        ("cross", {"layer": 0}, "no layer 0"),
        ("cross", {"head": 5}, "no head 5: heads are counted from 1 to 4"),
        ("both", {}, "encoder, decoder, cross"),
    ],
)
def test_a_map_that_does_not_exist_is_refused(maps, kind, choice, message):
    with pytest.raises(UserError, match=message):
        plots.plot_attention(maps, kind, **choice)


def test_a_kind_that_the_model_does_not_have_is_refused_with_those_it_has(maps):
    weights = {kind: maps.weights[kind] for kind in ("decoder", "cross")}
    maps = dataclasses.replace(maps, weights=weights)
    assert plots.plot_attention(maps, "cross").axes
    with pytest.raises(UserError, match="'encoder'.*Choose decoder or cross"):
        plots.plot_attention(maps, "encoder")


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures_are_written_by_suffix_and_always_alike(maps, tmp_path, suffix):
    paths = [tmp_path / "new" / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        figure = plots.plot_attention(maps, "cross", head=1)
        assert theme.save(figure, path) == path
    start = paths[0].read_bytes()[:5]
    assert start == (b"\x89PNG\r" if suffix == ".png" else b"<?xml")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    if suffix == ".svg":
        # No piece is taken for a formula.
        assert "$b$" in paths[0].read_text(encoding="utf-8")


def test_another_suffix_is_refused(maps, tmp_path):
    figure = plots.plot_attention(maps, "cross", head=1)
    with pytest.raises(UserError, match=r"\.png or \.svg"):
        theme.save(figure, tmp_path / "picture.jpg")


def test_a_place_that_cannot_be_written_is_named(maps, tmp_path):
    (tmp_path / "file").write_text("")
    figure = plots.plot_attention(maps, "cross", head=1)
    with pytest.raises(UserError, match="Cannot write .*picture.svg"):
        theme.save(figure, tmp_path / "file" / "picture.svg")


@pytest.mark.parametrize("layout", ["interleaved", "halves", "tensor2tensor"])
def test_positions_show_sines_and_cosines_of_every_layout(layout):
    figure = plots.plot_positions(8, 5, layout)
    sines, cosines, waves = figure.axes[:3]
    table = sinusoidal_positions(5, 8, layout)
    first = slice(0, None, 2) if layout == "interleaved" else slice(0, 4)
    second = slice(1, None, 2) if layout == "interleaved" else slice(4, None)
    np.testing.assert_array_equal(sines.images[0].get_array(), table[:, first].T)
    np.testing.assert_array_equal(cosines.images[0].get_array(), table[:, second].T)
    np.testing.assert_allclose(
        waves.lines[0].get_ydata(), np.sin(np.arange(5)), atol=1e-6
    )


@pytest.mark.parametrize(("d_model", "length"), [(7, 5), (0, 5), (8, 1)])
def test_positions_of_impossible_sizes_are_refused(d_model, length):
    with pytest.raises(UserError, match="cannot be drawn"):
        plots.plot_positions(d_model, length)


@pytest.mark.parametrize(("which", "base"), [("x", 10), ("y", 10), ("x", 2)])
def test_ticks_of_a_logarithmic_axis_are_plain_numbers(which, base):
    figure = Figure()
    with theme.theme():
        axes = figure.subplots()
        axes.plot([base**-3, 1, base**4], [base**-3, 1, base**4])
        theme.set_log_scale(axes, which, base)
        figure.draw_without_rendering()
    labels = getattr(axes, f"get_{which}ticklabels")(which="both")
    texts = {label.get_text() for label in labels} - {""}
    assert {f"{base**-2:g}", "1", f"{base**2:g}"} <= texts
    assert not any("$" in text for text in texts)


def test_the_map_of_weights_darkens_evenly():
    rgb = theme.weights_map()(np.linspace(0, 1, 11))[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = np.cbrt(linear @ np.linalg.inv(theme._CONES_TO_LINEAR_RGB).T)
    lightness = (cones @ np.linalg.inv(theme._OKLAB_TO_CONES).T)[:, 0]
    np.testing.assert_allclose(rgb[0], 1, atol=1e-3)
    np.testing.assert_allclose(np.diff(lightness), -0.075, atol=5e-3)
