import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import types

import jax
import numpy as np
import pytest

from tests.training.toy import (
    SCHEDULE,
    assert_same,
    batches_from,
    make_batch,
    make_state,
    make_step,
)
from transformer_jax.errors import UserError
from transformer_jax.training import loop
from transformer_jax.training.checkpoints import CheckpointStore
from transformer_jax.training.loop import LoopSettings, Procedure, train
from transformer_jax.training.writers import JsonLinesWriter, MetricWriter

ROOT = pathlib.Path(__file__).resolve().parents[2]
RNG = jax.random.key(5)
SETTINGS = LoopSettings(
    num_steps=20,
    score_name="sacrebleu",
    max_skips=10,
    log_every_steps=5,
    eval_every_steps=4,
    save_every_steps=6,
)


class Recorder(MetricWriter):
    """Keeps what it is given."""

    def __init__(self):
        self.rows = {}

    def write(self, step, values):
        assert step not in self.rows
        self.rows[step] = values


class Evaluation:
    """Scores that are written down in advance: step → score."""

    def __init__(self, scores=()):
        self.scores = dict(scores)
        self.steps = []

    def __call__(self, state):
        self.steps.append(int(state.step))
        return {"sacrebleu": self.scores.get(int(state.step), 1.0), "loss": 2.0}


@pytest.fixture(scope="module")
def step():
    return make_step()


class Clock:
    """The loop's clock, on which a step takes one second."""

    now = 0.0

    def monotonic(self):
        return self.now

    def batches_from(self, start):
        for batch in batches_from(start):
            self.now += 1.0
            yield batch


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(loop, "time", types.SimpleNamespace(monotonic=clock.monotonic))
    return clock


def run(folder, step, *, evaluate=None, writers=None, settings=SETTINGS, batches=None):
    """Start, or go on with, the run in `folder`; return its end and what was saved."""
    with CheckpointStore(folder) as store:
        state, rng, metadata = store.restore(make_state()) or (make_state(), RNG, {})
        state, reason = train(
            state,
            rng,
            Procedure(step, batches or batches_from, SCHEDULE, evaluate),
            store=store,
            writers=[writers or Recorder()],
            settings=settings,
            metadata=metadata,
        )
        return state, reason, store


def test_a_run_logs_evaluates_and_saves_when_it_should(tmp_path, step):
    evaluate, recorder = Evaluation({8: 3.0}), Recorder()
    state, reason, store = run(tmp_path, step, evaluate=evaluate, writers=recorder)
    assert (int(state.step), reason) == (20, "finished")
    assert evaluate.steps == [4, 8, 12, 16, 20]
    # Every fifth, every fourth with a validation, every sixth with a save.
    assert sorted(recorder.rows) == [4, 5, 6, 8, 10, 12, 15, 16, 18, 20]
    assert "validation/sacrebleu" not in recorder.rows[5]
    assert recorder.rows[8]["validation/sacrebleu"] == 3.0
    np.testing.assert_allclose(recorder.rows[5]["train/learning_rate"], 0.01)
    # Every sixth, the last, and 4 and 8, the best when they came.
    assert store.params_steps() == [6, 8, 12, 18, 20]
    assert store.best_step() == 8


def test_stopped_and_resumed_equals_uninterrupted_bit_for_bit(tmp_path, step):
    scores = {4: 2.0, 8: 5.0, 12: 3.0, 16: 6.0}
    whole, _, _ = run(tmp_path / "whole", step, evaluate=Evaluation(scores))
    evaluated = []
    for num_steps in (3, 8, 13, 20):
        evaluate = Evaluation(scores)
        settings = dataclasses.replace(SETTINGS, num_steps=num_steps)
        parts, _, store = run(
            tmp_path / "parts", step, evaluate=evaluate, settings=settings
        )
        evaluated += evaluate.steps
    assert_same(parts, whole)
    assert evaluated == [3, 4, 8, 12, 13, 16, 20]
    assert store.best_step() == 16


def test_the_reports_of_a_run_that_was_broken_off_count_each_token_once(tmp_path, step):
    def broken_off(start):
        for number, batch in enumerate(batches_from(start), start=start):
            if number == 14:
                raise InterruptedError
            yield batch

    def count(batches):
        writer = JsonLinesWriter(tmp_path / "metrics.jsonl")
        run(tmp_path, step, writers=writer, batches=batches)

    # Saved after step 12, reported after steps 10 and 12.
    with pytest.raises(InterruptedError):
        count(broken_off)
    count(batches_from)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    counted = sum(json.loads(line)["train/target_tokens"] for line in lines)
    assert counted == 20 * make_batch(0).loss_weights.sum()


def test_neither_saving_nor_validation_is_training_time(
    tmp_path, step, clock, monkeypatch
):
    class SlowEvaluation(Evaluation):
        def __call__(self, state):
            clock.now += 1000.0
            return super().__call__(state)

    save = CheckpointStore.save

    def slow_save(*arguments, **keywords):
        clock.now += 100.0
        save(*arguments, **keywords)

    monkeypatch.setattr(CheckpointStore, "save", slow_save)
    recorder = Recorder()
    run(
        tmp_path,
        step,
        evaluate=SlowEvaluation(),
        writers=recorder,
        batches=clock.batches_from,
    )
    assert clock.now > 20 + 5 * 1000 + 3 * 100
    # As many seconds as steps since the last report.
    seconds = {step: row["train/seconds"] for step, row in recorder.rows.items()}
    assert seconds == {4: 4, 5: 1, 6: 1, 8: 2, 10: 2, 12: 2, 15: 3, 16: 1, 18: 2, 20: 2}


def test_a_finished_run_does_nothing_more(tmp_path, step):
    run(tmp_path, step, evaluate=Evaluation())
    evaluate, recorder = Evaluation(), Recorder()
    state, reason, _ = run(tmp_path, step, evaluate=evaluate, writers=recorder)
    assert (int(state.step), reason) == (20, "finished")
    assert not evaluate.steps and not recorder.rows


def test_patience_ends_a_run_and_its_count_survives_a_resume(tmp_path, step):
    scores = {4: 2.0, 8: 5.0, 12: 4.0, 16: 5.0}
    patient = dataclasses.replace(SETTINGS, num_steps=40, patience=2)
    state, reason, store = run(
        tmp_path / "whole", step, evaluate=Evaluation(scores), settings=patient
    )
    assert (int(state.step), reason) == (16, "early_stopping")
    assert store.best_step() == 8

    # Broken off after step 12, which was evaluated and saved.
    first = dataclasses.replace(patient, num_steps=12)
    run(tmp_path / "parts", step, evaluate=Evaluation(scores), settings=first)
    for _ in range(2):
        state, reason, _ = run(
            tmp_path / "parts", step, evaluate=Evaluation(scores), settings=patient
        )
        assert (int(state.step), reason) == (16, "early_stopping")


def test_evaluations_before_the_first_score_cost_no_patience(tmp_path, step):
    scores = {4: 0.0, 8: 0.0, 12: 0.0, 16: 0.5, 20: 0.6}
    patient = dataclasses.replace(SETTINGS, patience=2)
    _, reason, store = run(
        tmp_path, step, evaluate=Evaluation(scores), settings=patient
    )
    assert reason == "finished"
    assert store.best_step() == 20


def test_saves_by_the_clock_come_so_long_after_the_last_save(tmp_path, step, clock):
    settings = LoopSettings(
        num_steps=10, score_name="sacrebleu", max_skips=10, save_every_minutes=2.5 / 60
    )
    _, _, store = run(tmp_path, step, settings=settings, batches=clock.batches_from)
    assert store.params_steps() == [3, 6, 9, 10]


def test_gradients_that_stay_infinite_end_the_run(tmp_path, step):
    def poisoned(start):
        for number, batch in enumerate(batches_from(start), start=start):
            bad = np.inf if number >= 7 else 1.0
            weights = np.where(batch.loss_weights > 0, bad, 0.0).astype(np.float32)
            yield dataclasses.replace(batch, loss_weights=weights)

    settings = dataclasses.replace(SETTINGS, max_skips=3)
    with pytest.raises(
        UserError, match="3 updates in a row up to step 10 were skipped"
    ):
        run(tmp_path, step, settings=settings, batches=poisoned)
    state, _, _ = CheckpointStore(tmp_path).restore(make_state())
    assert int(state.step) == 6


def test_batches_that_end_are_an_error_of_the_program(tmp_path, step):
    def short(start):
        return iter([next(batches_from(start))])

    with pytest.raises(ValueError, match="did at step 1"):
        run(tmp_path, step, batches=short)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_first_signal_saves_and_ends_the_run(tmp_path, step, number):
    before = signal.getsignal(number)

    def with_signal(start):
        for index, batch in enumerate(batches_from(start), start=start):
            if index == 10:
                os.kill(os.getpid(), number)
            yield batch

    state, reason, store = run(tmp_path, step, batches=with_signal)
    assert (int(state.step), reason) == (11, "terminated")
    assert store.steps() == [6, 11]
    assert signal.getsignal(number) == before
    whole, _, _ = run(tmp_path / "whole", step)
    resumed, reason, _ = run(tmp_path, step)
    assert reason == "finished"
    assert_same(resumed, whole)


def _hang_up_twice(start):
    for index, batch in enumerate(batches_from(start), start=start):
        if index == 10:
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGHUP)
        yield batch


def test_a_terminal_that_is_closed_and_its_shell_save_and_end_the_run(tmp_path, step):
    state, reason, store = run(tmp_path, step, batches=_hang_up_twice)
    assert (int(state.step), reason) == (11, "terminated")
    assert store.steps() == [6, 11]
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL


def test_a_signal_that_is_ignored_from_the_start_stays_ignored(tmp_path, step):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        _, reason, _ = run(tmp_path, step, batches=_hang_up_twice)
        assert reason == "finished"
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


KILLED = """
import os, signal, sys
from tests.training.test_loop import *

class Killer(MetricWriter):
    def advance(self, step):
        if step == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

run(sys.argv[1], make_step(), writers=Killer())
"""


def test_a_run_killed_at_any_step_ends_where_the_unbroken_one_ends(tmp_path, step):
    for last_step in (7, 14):
        process = subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path / "killed"), str(last_step)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            timeout=120,
        )
        assert process.returncode == -signal.SIGKILL
    writer = JsonLinesWriter(tmp_path / "metrics.jsonl")
    killed, _, _ = run(tmp_path / "killed", step, writers=writer)
    whole, _, _ = run(tmp_path / "whole", step)
    assert_same(killed, whole)
