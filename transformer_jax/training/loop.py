"""The training loop: steps, reports, evaluations, saves, in this order."""

import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import jax

from transformer_jax.errors import UserError
from transformer_jax.evaluation.means import MetricSums
from transformer_jax.training.checkpoints import CheckpointStore
from transformer_jax.training.metrics import MetricWindow, report_means
from transformer_jax.training.optimizer import Schedule
from transformer_jax.training.params_choice import is_score
from transformer_jax.training.state import TrainState
from transformer_jax.training.writers import MetricWriter, MetricWriters

TrainStep = Callable[[TrainState, Any, jax.Array], tuple[TrainState, MetricSums]]
Evaluate = Callable[[TrainState], Mapping[str, float]]
_REQUESTS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
StopReason = Literal["finished", "early_stopping", "terminated"]


@dataclasses.dataclass(frozen=True)
class LoopSettings:
    """When to do what, in steps unless the name says otherwise; 0 means never.

    Attributes:
      num_steps: train until so many global batches are taken.
      score_name: the evaluation's number that is best when highest.
      max_skips: give up after so many skipped updates in a row.
      log_every_steps: report training metrics; each evaluation and save does too.
      eval_every_steps: evaluate; the last step is evaluated in any case.
      save_every_steps: save; a new best score and the last step are saved in any case.
      save_every_minutes: save so long after the last save, as the paper does (Section
        6.1: every 10 minutes).
      patience: stop after so many evaluations in a row without a new best score.
    """

    num_steps: int
    score_name: str
    max_skips: int
    log_every_steps: int = 0
    eval_every_steps: int = 0
    save_every_steps: int = 0
    save_every_minutes: float = 0.0
    patience: int = 0


@dataclasses.dataclass(frozen=True)
class BestScore:
    """How validation went so far; kept in the checkpoints.

    Attributes:
      score: the highest so far; None before the first.
      num_evaluations_since: evaluations after the one that reached it.
    """

    score: float | None = None
    num_evaluations_since: int = 0

    def after(self, score: float) -> "BestScore":
        """Return the record after one more evaluation.

        Evaluations do not count before the first that has a score (see `is_score`).
        """
        if is_score(score) and (self.score is None or score > self.score):
            return BestScore(score)
        if self.score is None:
            return self
        return BestScore(self.score, self.num_evaluations_since + 1)


@dataclasses.dataclass(frozen=True)
class Procedure:
    """What a run does, whenever it does it.

    Attributes:
      train_step: jitted; takes the state, a batch and the run's dropout key.
      batches_from: the batches from a given step on, on the devices already.
      learning_rate: what `train_step` uses, to report it.
      evaluate: scores a state on the validation set; None never does.
      as_saved: turns a state into the form that it is saved in.
      waited_seconds: how long steps have waited so far for XLA to compile them.
      num_compiling: how many programs XLA has left to compile.
    """

    train_step: TrainStep
    batches_from: Callable[[int], Iterator[Any]]
    learning_rate: Schedule
    evaluate: Evaluate | None
    as_saved: Callable[[TrainState], TrainState] = lambda state: state
    waited_seconds: Callable[[], float] = lambda: 0.0
    num_compiling: Callable[[], int] = lambda: 0


def train(
    state: TrainState,
    dropout_rng: jax.Array,
    procedure: Procedure,
    *,
    store: CheckpointStore,
    writers: Sequence[MetricWriter],
    settings: LoopSettings,
    metadata: Mapping[str, Any],
) -> tuple[TrainState, StopReason]:
    """Train from `state.step` to `settings.num_steps`.

    A step is evaluated before it is saved, so that its score and its place in early
    stopping go into the checkpoint, and a run that goes on from there does not evaluate
    it again. SIGTERM, SIGHUP and Ctrl-C end the run after the step at hand, saved.

    Args:
      state: where to start; donated if `procedure.train_step` donates.
      dropout_rng: the run's dropout key; saved in the checkpoints.
      procedure: what to do.
      store: where checkpoints go.
      writers: where numbers go; begun and closed here.
      settings: when to do what.
      metadata: what to keep in each checkpoint; of a run that goes on, what the
        checkpoint held, with "best_score" as this function left it.

    Returns:
      The last state, and why training ended.

    Raises:
      UserError: if too many updates in a row were not finite, or saving failed.
    """
    step = int(state.step)
    best = BestScore(**metadata.get("best_score", {}))
    if (stop := _reason_to_stop(step, best, settings, is_asked=False)) is not None:
        return state, stop
    batches, evaluate = procedure.batches_from(step), procedure.evaluate
    window = MetricWindow()
    with MetricWriters(writers) as writer, _termination_request() as is_asked_to_stop:
        writer.begin(step, settings.num_steps)
        window_start = last_save = time.monotonic()
        waited = 0.0
        while stop is None:
            batch = next(batches, None)
            if batch is None:
                raise ValueError(f"batches_from must not end, but did at step {step}.")
            writer.wait_for_compiler(procedure.num_compiling())
            state, sums = procedure.train_step(state, batch, dropout_rng)
            step += 1
            window.add(sums)
            writer.advance(step)

            is_asked, is_last = is_asked_to_stop(), step == settings.num_steps
            is_evaluated = evaluate is not None and (
                is_last or _is_due(step, settings.eval_every_steps)
            )
            is_saved = (
                is_asked
                or is_last
                or _is_due(step, settings.save_every_steps)
                or _is_late(last_save, settings.save_every_minutes)
            )
            values: dict[str, float] = {}
            # Each save too: then the reports of a run that goes on add up to all of it.
            if is_saved or is_evaluated or _is_due(step, settings.log_every_steps):
                window_sums = window.report()
                _check_skips(window.longest_skips, step, settings.max_skips)
                seconds = time.monotonic() - window_start
                before, waited = waited, procedure.waited_seconds()
                means = report_means(window_sums, seconds, waited - before)
                values = _named("train", means)
                values["train/learning_rate"] = float(procedure.learning_rate(step - 1))

            score = None
            if evaluate is not None and is_evaluated:
                scores = evaluate(state)
                values |= _named("validation", scores)
                score = scores.get(settings.score_name)
                best = best if score is None else best.after(score)
            if values:
                writer.write(step, values)

            stop = _reason_to_stop(step, best, settings, is_asked)
            is_best = is_score(score) and best.num_evaluations_since == 0
            if is_saved or is_best or stop is not None:
                kept = {**metadata, "best_score": dataclasses.asdict(best)}
                saved = procedure.as_saved(state)
                store.save(step, saved, rng=dropout_rng, metadata=kept, score=score)
                last_save = time.monotonic()
            if values:  # Neither validation nor saving counts as training time.
                window_start = time.monotonic()
        store.wait()
    return state, stop


def _reason_to_stop(
    step: int, best: BestScore, settings: LoopSettings, is_asked: bool
) -> StopReason | None:
    if step >= settings.num_steps:
        return "finished"
    if settings.patience and best.num_evaluations_since >= settings.patience:
        return "early_stopping"
    return "terminated" if is_asked else None


def _is_due(step: int, every_steps: int) -> bool:
    return every_steps > 0 and step % every_steps == 0


def _is_late(last_save: float, every_minutes: float) -> bool:
    return every_minutes > 0 and time.monotonic() - last_save >= 60 * every_minutes


def _named(group: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f"{group}/{name}": value for name, value in values.items()}


def _check_skips(longest: int, step: int, max_skips: int) -> None:
    if longest >= max_skips:
        raise UserError(
            f"{longest} updates in a row up to step {step} were skipped because their "
            "gradient was not finite. Lower the learning rate, lengthen the warm-up or "
            "clip gradients, then start again; the last checkpoint is unharmed."
        )


@contextlib.contextmanager
def _termination_request() -> Iterator[Callable[[], bool]]:
    """Hold back a first SIGTERM, Ctrl-C or SIGHUP to be asked for.

    A second one acts as ever, but for SIGHUP: a terminal that is closed sends it, and
    its shell once more. What is ignored from the start, as by nohup, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # Python hears signals in the main thread only.
        return
    asked: list[int] = []
    previous = {
        number: handler
        for number in _REQUESTS
        if (handler := signal.getsignal(number)) != signal.SIG_IGN
    }

    def restore(but: int | None = None) -> None:
        for number, handler in previous.items():
            if number != but:
                signal.signal(number, handler)

    def ask(number: int, frame: object) -> None:
        asked.append(number)
        restore(but=signal.SIGHUP)

    for number in previous:
        signal.signal(number, ask)
    try:
        yield lambda: bool(asked)
    finally:
        restore()
