import io
import json
import math

import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.training.metrics import (
    JsonLinesWriter,
    MetricWindow,
    MetricWriter,
    MetricWriters,
    ProgressWriter,
    TensorBoardWriter,
    means,
)

SUMS = {
    "loss": 9.0,
    "nll": 6.0,
    "correct": 1.0,
    "source_tokens": 5.0,
    "target_tokens": 3.0,
    "positions": 10.0,
    "steps": 3.0,
    "gradient_norm": 4.0,
    "skipped": 1.0,
}
TRAINING = {
    "train/loss": 2.5,
    "train/learning_rate": 1e-3,
    "train/target_tokens_per_second": 1234.0,
    "train/padding_share": 0.2,
}


def step_sums(loss=0.0, skipped=0.0):
    return {"loss": jnp.float32(loss), "skipped": jnp.float32(skipped)}


def test_means_are_those_worked_out_by_hand():
    assert means(SUMS, seconds=2.0) == {
        "loss": 3.0,
        "nll": 2.0,
        "perplexity": math.exp(2.0),
        "accuracy": 1 / 3,
        "padding_share": pytest.approx(0.2),
        "target_tokens_per_second": 1.5,
        "gradient_norm": 2.0,
        "skipped": 1.0,
        "source_tokens": 5.0,
        "target_tokens": 3.0,
        "seconds": 2.0,
    }


def test_a_mean_over_no_token_is_not_a_number_and_a_huge_perplexity_is_infinite():
    assert math.isnan(means(SUMS | {"target_tokens": 0.0}, 1.0)["loss"])
    assert means(SUMS | {"nll": 1e4}, 1.0)["perplexity"] == math.inf


def test_a_window_sums_its_steps_and_starts_anew():
    window = MetricWindow()
    for loss in (1.0, 2.0, 4.0):
        window.add(step_sums(loss))
    assert window.report()["loss"] == 7.0
    window.add(step_sums(3.0))
    assert window.report()["loss"] == 3.0


def test_skips_in_a_row_are_counted_across_reports():
    window = MetricWindow()
    for skipped in (1, 1, 0, 1):
        window.add(step_sums(skipped=skipped))
    window.report()
    assert window.longest_skips == 2
    for skipped in (1, 1, 0):
        window.add(step_sums(skipped=skipped))
    window.report()
    assert window.longest_skips == 3
    window.add(step_sums())
    window.report()
    assert window.longest_skips == 0


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_resumed_run_writes_no_step_twice(tmp_path):
    path = tmp_path / "metrics.jsonl"
    writer = JsonLinesWriter(path)
    for step in (10, 20, 30, 40):
        writer.write(step, {"train/loss": float(step)})
    writer.close()
    writer = JsonLinesWriter(path, start_step=20)
    writer.write(30, {"train/loss": -30.0})
    writer.close()
    losses = [(row["step"], row["train/loss"]) for row in read(path)]
    assert losses == [(10, 10.0), (20, 20.0), (30, -30.0)]


def test_a_line_cut_off_by_a_kill_is_dropped(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 10, "train/loss": 1.0}\n{"step": 20, "train/l')
    JsonLinesWriter(path, start_step=20).close()
    assert read(path) == [{"step": 10, "train/loss": 1.0}]


def test_what_is_no_number_is_null_in_json(tmp_path):
    path = tmp_path / "run" / "metrics.jsonl"
    writer = JsonLinesWriter(path)
    writer.write(1, {"a": math.nan, "b": math.inf, "c": 2.0})
    writer.close()
    assert read(path) == [{"step": 1, "a": None, "b": None, "c": 2.0}]


def test_tensorboard_gets_a_file_of_events(tmp_path):
    writer = TensorBoardWriter(tmp_path, start_step=5)
    writer.write(10, {"train/loss": 1.0})
    writer.close()
    (events,) = tmp_path.glob("events.out.tfevents.*")
    assert b"train/loss" in events.read_bytes()


def test_off_a_terminal_progress_is_a_line_now_and_then():
    stream = io.StringIO()
    writer = ProgressWriter(100, stream=stream, seconds_between_lines=1e9)
    for step in (10, 20):
        writer.advance(step)
        writer.write(step, TRAINING)
    writer.write(30, TRAINING | {"validation/bleu": 31.25})
    writer.write(100, TRAINING)
    writer.close()
    first, scored, last = stream.getvalue().splitlines()
    assert first.startswith(
        "step 10/100  loss 2.500, learning rate 1.00e-03, 1234 target tokens/s, "
        "padding 20 %"
    )
    assert "validation/bleu 31.25" in scored
    assert last.startswith("step 100/100")
    assert last.endswith("0:00:00 left")


def test_on_a_terminal_progress_is_a_bar():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    writer = ProgressWriter(100, start_step=40, stream=stream)
    writer.advance(41)
    writer.write(50, TRAINING)
    writer.close()
    assert "41/100" in stream.getvalue()
    assert "1234 target tokens/s" in stream.getvalue()


def test_several_writers_act_as_one_and_are_closed_after_an_error():
    class Recorder(MetricWriter):
        def __init__(self):
            self.calls = []

        def advance(self, step):
            self.calls.append(step)

        def write(self, step, values):
            self.calls.append((step, values))

        def close(self):
            self.calls.append("closed")

    class Broken(MetricWriter):
        def close(self):
            raise OSError("no room")

    recorders = Recorder(), Recorder()
    with pytest.raises(OSError, match="no room"):
        with MetricWriters([recorders[0], Broken(), recorders[1]]) as writers:
            writers.advance(1)
            writers.write(1, {"a": 2.0})
    for recorder in recorders:
        assert recorder.calls == [1, (1, {"a": 2.0}), "closed"]
    np.testing.assert_equal(MetricWriter().write(1, {}), None)
