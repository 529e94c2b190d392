"""Metrics are read in spite of broken runs, and each panel shows its own curve."""

import json

import numpy as np
import pytest

from transformer_jax.errors import UserError
from transformer_jax.visualization import curves


def _write(folder, rows, rest=""):
    text = "".join(json.dumps(row) + "\n" for row in rows) + rest
    (folder / "metrics.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_curves_are_read_by_split_and_name(tmp_path):
    rows = [
        {"step": 10, "train/loss": 5.0, "train/learning_rate": 1e-3},
        {"step": 20, "train/loss": 4.0, "validation/loss": 4.5, "note": "text"},
    ]
    metrics = curves.read_metrics(_write(tmp_path, rows))
    assert metrics["train"].keys() == {"loss", "learning_rate"}
    np.testing.assert_array_equal(metrics["train"]["loss"].steps, [10, 20])
    np.testing.assert_array_equal(metrics["train"]["loss"].values, [5, 4])
    np.testing.assert_array_equal(metrics["validation"]["loss"].steps, [20])


def test_repeated_steps_broken_lines_and_missing_values_are_passed_over(tmp_path):
    rows = [
        {"step": 10, "train/loss": 9.0},
        {"step": 30, "train/loss": None},
        {"step": 20, "train/loss": 7.0},
        {"step": 10, "train/loss": 8.0},
        {"step": 40, "train/loss": float("nan")},
        {"train/loss": 1.0},
    ]
    metrics = curves.read_metrics(_write(tmp_path, rows, '{"step": 50, "train/lo'))
    np.testing.assert_array_equal(metrics["train"]["loss"].steps, [10, 20])
    np.testing.assert_array_equal(metrics["train"]["loss"].values, [8, 7])


def test_a_folder_without_metrics_is_named(tmp_path):
    with pytest.raises(UserError, match="metrics.jsonl"):
        curves.read_metrics(tmp_path)


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(UserError, match="no metrics yet"):
        curves.read_metrics(_write(tmp_path, []))


def _panels(figure):
    return {axes.get_title("left"): axes for axes in figure.axes if axes.get_visible()}


def _curve(*values):
    return curves.Curve(np.arange(1, len(values) + 1) * 100, np.array(values, float))


def test_every_quantity_has_its_panel():
    metrics = {
        "train": {"loss": _curve(5, 4), "learning_rate": _curve(2e-4, 7e-4)},
        "validation": {
            "loss": _curve(5, 4.5),
            "perplexity": _curve(90, 40),
            "sacrebleu": _curve(3, 9),
            "chrf": _curve(20, 30),
        },
    }
    panels = _panels(curves.plot_curves(metrics, "run"))
    assert list(panels) == [
        "Loss",
        "Learning rate",
        "Validation perplexity",
        "Validation scores",
    ]
    rate = panels["Learning rate"]
    np.testing.assert_allclose(rate.lines[0].get_ydata(), [2, 7])
    assert "10⁻⁴" in rate.get_ylabel()
    assert "highest 7.00 × 10⁻⁴ at step 200" in rate.get_title("right")
    assert "lowest 40.00 at step 200" in panels["Validation perplexity"].get_title(
        "right"
    )
    assert "sacreBLEU 9.00" in panels["Validation scores"].get_title("right")
    for axes in panels.values():
        assert axes.get_xlabel() == "step (updates taken)"
        assert axes.get_ylabel()


def test_panels_without_data_are_left_out():
    panels = _panels(curves.plot_curves({"train": {"loss": _curve(5)}}))
    assert list(panels) == ["Loss"]


def test_metrics_without_a_known_quantity_are_refused():
    with pytest.raises(UserError, match="neither"):
        curves.plot_curves({"train": {"temperature": _curve(1, 2)}})


def test_a_long_curve_is_drawn_pale_with_its_moving_average_over_it():
    noise = np.tile([1.0, 3.0], 100)
    figure = curves.plot_curves({"train": {"loss": _curve(*noise)}})
    pale, average = figure.axes[0].lines
    np.testing.assert_array_equal(pale.get_ydata(), noise)
    np.testing.assert_allclose(average.get_ydata(), 2.0)


def test_classes_and_hidden_tokens_have_a_panel_of_shares():
    metrics = {
        "validation": {
            "accuracy": _curve(0.5, 0.75),
            "matthews": _curve(-0.1, 0.4),
            "unigram_accuracy": _curve(0.1, 0.1),
        }
    }
    panel = _panels(curves.plot_curves(metrics))["Validation scores"]
    assert "best accuracy 75.00 at step 200" in panel.get_title("right")
    assert [line.get_label() for line in panel.lines] == [
        "accuracy",
        "Matthews's correlation",
        "always the most frequent",
    ]
    assert panel.get_ylim()[0] == pytest.approx(-10)
