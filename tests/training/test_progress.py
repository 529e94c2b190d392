"""What a person sees of a training, on a terminal and in a log."""

import io

import pytest

from transformer_jax.training import progress
from transformer_jax.training.progress import ProgressWriter

TRAINING = {
    "train/loss": 2.5,
    "train/learning_rate": 1e-3,
    "train/source_tokens_per_second": 777.0,
    "train/target_tokens_per_second": 1234.0,
    "train/padding_share": 0.2,
}


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def _begun(writer, start_step=0, num_steps=100):
    writer.begin(start_step, num_steps)
    return writer


def test_off_a_terminal_progress_is_a_line_now_and_then():
    stream = io.StringIO()
    writer = _begun(ProgressWriter(stream, seconds_between_lines=1e9))
    for step in (10, 20):
        writer.advance(step)
        writer.write(step, TRAINING)
    writer.write(30, TRAINING | {"validation/bleu": 31.25})
    writer.write(100, TRAINING)
    writer.close()
    first, _, scored, last = stream.getvalue().splitlines()
    assert first.startswith(
        "step 10/100  loss 2.500, lr 1.00e-03, 1234 target tokens/s, padding 20 %"
    )
    assert scored == "step 30, validation: bleu 31.25"
    assert last.startswith("step 100/100")
    assert last.endswith("0:00:00 left")


def test_waiting_for_a_compiler_is_no_measure_of_the_time_left(monkeypatch):
    clock = iter([0.0, 120.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    writer = _begun(ProgressWriter(stream))
    # Ten of a hundred steps in two minutes, of which the compiler took 110 s.
    writer.write(10, TRAINING | {"train/compile_wait_seconds": 110.0})
    assert stream.getvalue().endswith("0:01:30 left\n")


def test_on_a_terminal_progress_is_a_bar():
    stream = _Terminal()
    writer = _begun(ProgressWriter(stream), start_step=40)
    writer.advance(41)
    writer.write(50, TRAINING)
    writer.close()
    assert "XLA compiles the step" in stream.getvalue()
    assert "41/100" in stream.getvalue()
    assert "left, loss 2.500" in stream.getvalue()
    assert "1234 target tokens/s" in stream.getvalue()


def test_a_line_of_another_task_names_its_own_tokens():
    stream = io.StringIO()
    writer = _begun(ProgressWriter(stream))
    values = {"train/loss": 1.0, "train/learning_rate": 1e-3}
    writer.write(1, values | {"train/tokens_per_second": 5.0})
    assert "lr 1.00e-03, 5 tokens/s  " in stream.getvalue()


def test_the_longest_line_fits_100_columns():
    stream = io.StringIO()
    writer = _begun(ProgressWriter(stream), num_steps=100_000)
    writer.write(99_000, TRAINING | {"train/target_tokens_per_second": 698_000.0})
    names = ("loss", "perplexity", "accuracy", "sacrebleu", "chrf")
    writer.write(100_000, {f"validation/{name}": 12.3456 for name in names})
    assert max(map(len, stream.getvalue().splitlines())) <= 100


@pytest.mark.parametrize(
    ("device", "seconds_a_step", "days"),
    [("cpu", 40, 23), ("cpu", 3, None), ("gpu", 40, None), ("", 40, None)],
)
@pytest.mark.parametrize("stream", [io.StringIO, _Terminal])
def test_a_run_that_its_device_needs_days_for_is_told_of_once(
    monkeypatch, stream, device, seconds_a_step, days
):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    writer = _begun(ProgressWriter(stream(), device=device), num_steps=50_000)
    now[0] = 300.0  # The compiler's, which do not count.
    for step in range(1, 40):
        writer.advance(step)
        now[0] += seconds_a_step
    told = writer._stream.getvalue()
    assert told.count("At this speed") == (0 if days is None else 1)
    if days:
        assert f"takes {days} days more on this {device.upper()}" in told


def test_while_xla_compiles_the_bar_says_so_and_not_how_much_time_is_left():
    stream = _Terminal()
    writer = _begun(ProgressWriter(stream))
    for step, num_programs in ((1, 3), (2, 2), (3, 2)):
        writer.wait_for_compiler(num_programs)
        writer.advance(step)
        writer.write(step, TRAINING)
    assert "XLA compiles the step, shapes left: 3" in stream.getvalue()
    assert "XLA compiles the step, shapes left: 2, loss 2.500" in stream.getvalue()
    assert "0 left" not in stream.getvalue()
    writer.wait_for_compiler(0)
    writer.write(4, TRAINING)
    assert stream.getvalue().rpartition("\r")[2].count("left, loss 2.500") == 1
    assert "shapes" not in stream.getvalue().rpartition("\r")[2]
