import json
import math
import struct

import pytest
from tensorboardX.proto.event_pb2 import Event, SessionLog

from transformer_jax.files import without_checksum
from transformer_jax.training.writers import (
    JsonLinesWriter,
    MetricWriter,
    MetricWriters,
    TensorBoardWriter,
)


def begun(writer, start_step=0, num_steps=100):
    writer.begin(start_step, num_steps)
    return writer


def read(path):
    """Return what the lines hold, each as it was written."""
    return [without_checksum(json.loads(line)) for line in path.open()]


def test_a_resumed_run_writes_no_step_twice_and_says_what_goes(tmp_path, caplog):
    caplog.set_level("INFO", logger="transformer_jax")
    path = tmp_path / "metrics.jsonl"
    writer = begun(JsonLinesWriter(path))
    for step in (10, 20, 30, 40):
        writer.write(step, {"train/loss": float(step)})
    writer.close()
    writer = begun(JsonLinesWriter(path), start_step=20)
    writer.write(30, {"train/loss": -30.0})
    writer.close()
    losses = [(row["step"], row["train/loss"]) for row in read(path)]
    assert losses == [(10, 10.0), (20, 20.0), (30, -30.0)]
    assert "the rows after step 20, up to step 40, go" in caplog.text


def test_a_line_cut_off_by_a_kill_is_dropped(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 10, "train/loss": 1.0}\n{"step": 20, "train/l')
    begun(JsonLinesWriter(path), start_step=20).close()
    assert read(path) == [{"step": 10, "train/loss": 1.0}]


def test_what_is_no_number_is_null_in_json(tmp_path):
    path = tmp_path / "run" / "metrics.jsonl"
    writer = begun(JsonLinesWriter(path))
    writer.write(1, {"a": math.nan, "b": math.inf, "c": 2.0})
    writer.close()
    assert read(path) == [{"step": 1, "a": None, "b": None, "c": 2.0}]


def test_tensorboard_gets_a_file_of_events(tmp_path):
    writer = begun(TensorBoardWriter(tmp_path), start_step=5)
    writer.write(10, {"train/loss": 1.0})
    writer.close()
    (events,) = tmp_path.glob("events.out.tfevents.*")
    assert b"train/loss" in events.read_bytes()


def _events(path):
    """Read a file of events: each is its length, a checksum, itself, a checksum."""
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack_from("<Q", data)
        yield Event.FromString(data[12 : 12 + length])
        data = data[16 + length :]


@pytest.mark.parametrize("start_step", [0, 3])
def test_tensorboard_shows_no_step_twice_after_a_kill(tmp_path, start_step):
    shown = []
    for number, start in enumerate((0, start_step)):
        writer = begun(TensorBoardWriter(tmp_path / str(number)), start)
        for step in range(start + 1, 7):
            writer.write(step, {"train/loss": float(number)})
        writer.close()
        (path,) = (tmp_path / str(number)).iterdir()
        for event in _events(path):  # As TensorBoard reads them, file after file.
            if event.session_log.status == SessionLog.START:
                shown = [step for step in shown if step < event.step]
            elif event.HasField("summary"):
                shown.append(event.step)
    assert shown == [1, 2, 3, 4, 5, 6]


def test_several_writers_act_as_one_and_are_closed_after_an_error():
    class Recorder(MetricWriter):
        def __init__(self):
            self.calls = []

        def begin(self, start_step, num_steps):
            self.calls.append((start_step, num_steps))

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
            writers.begin(0, 9)
            writers.advance(1)
            writers.write(1, {"a": 2.0})
    for recorder in recorders:
        assert recorder.calls == [(0, 9), 1, (1, {"a": 2.0}), "closed"]
