"""Checkpoints of a run: saved in the background, checked before they are used.

A run's folder holds

    checkpoints/STEP   the full state after STEP updates, of the newest few steps
    parameters/STEP    what is evaluated after STEP updates (the moving average where
                       there is one), of the newest several steps and of the best

Each STEP folder is written by Orbax under a temporary name, then renamed; step.json
says what it holds, and checksums.json, written last, that it is whole.
"""

import errno
import json
import logging
import math
import os
import pathlib
import shutil
import threading
from collections.abc import Mapping
from typing import Any, Literal, TypeGuard

import jax
import orbax.checkpoint as ocp

from transformer_jax.errors import UserError
from transformer_jax.training.checksums import (
    CHECKSUMS,
    find_damage,
    is_finished,
    write_checksums,
)
from transformer_jax.training.state import TrainState

_LOGGER = logging.getLogger(__name__)
_DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EACCES)
_DISK_WORDS = ("No space left", "File too large", "quota exceeded", "Permission denied")

Which = int | Literal["best", "last"]


class CheckpointStore:
    """The checkpoints under one run's folder, for one writer and many readers."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        keep_states: int = 2,
        keep_params: int = 5,
    ) -> None:
        """Open the store; nothing is written before the first save.

        Args:
          directory: the run's folder.
          keep_states: how many of the newest full states stay; two or more, so that a
            damaged one has another behind it.
          keep_params: how many of the newest parameters stay, beside the best.
        """
        if keep_states < 1 or keep_params < 1:
            raise UserError(
                "A run must keep at least one state and one set of parameters, got "
                f"keep_states={keep_states} and keep_params={keep_params}."
            )
        directory = pathlib.Path(directory).absolute()
        self._states = directory / "checkpoints"
        self._params = directory / "parameters"
        self._keep_states = keep_states
        self._keep_params = keep_params
        self._state_saver = ocp.StandardCheckpointer()
        self._params_saver = ocp.StandardCheckpointer()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        logging.getLogger("absl").addFilter(_is_not_a_save_traceback)

    def __enter__(self) -> "CheckpointStore":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def save(
        self,
        step: int,
        state: TrainState,
        *,
        rng: jax.Array,
        metadata: Mapping[str, Any],
        score: float | None = None,
    ) -> None:
        """Save the state after `step` updates; returns before the files are written.

        Whatever the store holds of this step or later ones, left by a run that was
        broken off, is replaced or removed.

        Args:
          step: number of finished updates.
          state: may be donated to the next step as soon as this returns.
          rng: the run's random key.
          metadata: what else to keep; JSON.
          score: validation score of these parameters, higher is better; None if they
            have not been evaluated.

        Raises:
          UserError: if this save or the one before it cannot be written.
        """
        self.wait()
        note = {
            "step": step,
            "score": score,
            "rng": str(jax.random.key_impl(rng)),
            "metadata": dict(metadata),
        }
        saved = {"state": state, "rng": jax.random.key_data(rng)}
        try:
            for folder in (self._params, self._states):
                folder.mkdir(parents=True, exist_ok=True)
            self._params_saver.save(
                self._params / str(step), state.evaluated_params, force=True
            )
            self._state_saver.save(self._states / str(step), saved, force=True)
        except Exception as error:
            raise _explain(error, step, self._states) from error
        notes = (
            note | {"arrays": _describe(state.evaluated_params)},
            note | {"arrays": _describe(saved)},
        )
        self._thread = threading.Thread(
            target=self._finish, args=(step, *notes), name=f"save {step}"
        )
        self._thread.start()

    def wait(self) -> None:
        """Block until the last save is whole; raise what went wrong with it."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def close(self) -> None:
        """Wait for the last save and let go of the threads."""
        try:
            self.wait()
        finally:
            self._params_saver.close()
            self._state_saver.close()

    def steps(self) -> list[int]:
        """Return the steps whose full state was written to its end, in order."""
        return _finished_steps(self._states)

    def params_steps(self) -> list[int]:
        """Return the steps whose parameters were written to their end, in order."""
        return _finished_steps(self._params)

    def scores(self) -> dict[int, float]:
        """Return the validation score of each step that has kept parameters."""
        scores = {
            step: _read_note(self._params / str(step))["score"]
            for step in self.params_steps()
        }
        return {step: score for step, score in scores.items() if is_score(score)}

    def best_step(self) -> int | None:
        """Return the step of the highest score, the earliest of equals, if any."""
        scores = self.scores()
        return max(scores, key=lambda step: (scores[step], -step), default=None)

    def restore(
        self, abstract_state: TrainState
    ) -> tuple[TrainState, jax.Array, dict[str, Any]] | None:
        """Read the newest whole state, passing over damaged ones with a warning.

        Args:
          abstract_state: shapes, types and shardings to read into; arrays will do.

        Returns:
          state, rng and metadata as they were saved; None if nothing was ever saved.

        Raises:
          UserError: if states were saved but none is whole, or of another model.
        """
        steps = sorted(_all_steps(self._states), reverse=True)
        for step in steps:
            folder = self._states / str(step)
            if damage := find_damage(folder):
                _LOGGER.warning("Skipping the checkpoint %s: %s.", folder, damage)
                continue
            return self._restore_state(folder, abstract_state)
        # One that was never finished and none beside it: killed during the first save.
        if len(steps) > 1 or self.steps():
            raise UserError(
                f"None of the {len(steps)} checkpoints in {self._states} is whole. "
                "Copy them back from elsewhere, or remove that folder to start over."
            )
        return None

    def resolve(self, which: Which) -> int:
        """Return the step that a number, "best" or "last" stands for.

        Raises:
          UserError: if there is no such step.
        """
        steps = self.params_steps()
        if not steps:
            raise UserError(
                f"There is no checkpoint in {self._params}. Train the run first, or "
                "name the folder of another run."
            )
        if which == "last":
            return steps[-1]
        if which == "best":
            best = self.best_step()
            if best is None:
                raise UserError(
                    f"No checkpoint in {self._params} has a validation score, so none "
                    'is the best. Use "last" or one of the steps '
                    f"{', '.join(map(str, steps))}."
                )
            return best
        if which not in steps:
            raise UserError(
                f"There is no checkpoint of step {which} in {self._params}. It holds "
                f"{', '.join(map(str, steps))}."
            )
        return int(which)

    def restore_params(self, which: Which, abstract_params: Any) -> Any:
        """Read the parameters of one step.

        Args:
          which: a step, "best" (highest validation score) or "last".
          abstract_params: shapes, types and shardings to read into; arrays will do.

        Raises:
          UserError: if the step is missing, damaged or of another model. "last" alone
            passes over damaged steps, with a warning.
        """
        step = self.resolve(which)
        steps = (
            [s for s in self.params_steps() if s <= step] if which == "last" else [step]
        )
        for candidate in reversed(steps):
            folder = self._params / str(candidate)
            damage = find_damage(folder)
            if damage is None:
                return _read_arrays(self._params_saver, folder, abstract_params)
            if which == "last":
                _LOGGER.warning("Skipping the parameters %s: %s.", folder, damage)
        others = ", ".join(map(str, self.params_steps()))
        raise UserError(
            f"{self._params / str(step)} cannot be used: {damage}. Use another step; "
            f"the run holds {others}."
        )

    def _restore_state(
        self, folder: pathlib.Path, abstract_state: TrainState
    ) -> tuple[TrainState, jax.Array, dict[str, Any]]:
        note = _read_note(folder)
        some_rng = jax.eval_shape(lambda: jax.random.key(0, impl=note["rng"]))
        rng_data = jax.eval_shape(jax.random.key_data, some_rng)
        abstract = {"state": abstract_state, "rng": rng_data}
        saved = _read_arrays(self._state_saver, folder, abstract)
        rng = jax.random.wrap_key_data(saved["rng"], impl=note["rng"])
        return saved["state"], rng, note["metadata"]

    def _finish(self, step: int, params_note: dict, state_note: dict) -> None:
        """Bring a save to its end, in a thread: notes, checksums, then old steps go."""
        try:
            for saver, folder, note in (
                (self._params_saver, self._params / str(step), params_note),
                (self._state_saver, self._states / str(step), state_note),
            ):
                saver.wait_until_finished()
                if jax.process_index() == 0:
                    text = json.dumps(note, indent=1)
                    (folder / "step.json").write_text(text, encoding="utf-8")
                    write_checksums(folder)
            if jax.process_index() == 0:
                self._remove_old(step)
        except BaseException as error:
            self._failure = _explain(error, step, self._states)
            self._failure.__cause__ = error

    def _remove_old(self, newest: int) -> None:
        """Remove what need not be kept, and what a broken run left behind."""
        states, params = self.steps(), self.params_steps()
        kept_states = [s for s in states if s <= newest][-self._keep_states :]
        kept_params = [s for s in params if s <= newest][-self._keep_params :]
        for step in set(params) - {s for s in params if s <= newest}:
            _remove(self._params / str(step))
        best = self.best_step()
        for parent, kept in (
            (self._states, set(kept_states)),
            (self._params, {*kept_params, best}),
        ):
            for path in parent.iterdir():
                if not (path.name.isdigit() and int(path.name) in kept):
                    _remove(path)


def _all_steps(parent: pathlib.Path) -> list[int]:
    if not parent.is_dir():
        return []
    return sorted(int(path.name) for path in parent.iterdir() if path.name.isdigit())


def _finished_steps(parent: pathlib.Path) -> list[int]:
    return [step for step in _all_steps(parent) if is_finished(parent / str(step))]


def is_score(score: float | None) -> TypeGuard[float]:
    """Say whether a number can be the best score.

    A score of 0 cannot: nothing has been learnt yet, and a best among zeros would be an
    accident.
    """
    return score is not None and math.isfinite(score) and score != 0


def _read_note(folder: pathlib.Path) -> dict[str, Any]:
    return json.loads((folder / "step.json").read_text(encoding="utf-8"))


def _remove(folder: pathlib.Path) -> None:
    # The list first: what is half removed must not look finished.
    (folder / CHECKSUMS).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _describe(tree: Any) -> dict[str, str]:
    """Return each array's path with its type and shape."""
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): (
            f"{leaf.dtype}{list(leaf.shape)}"
        )
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _read_arrays(
    saver: ocp.StandardCheckpointer, folder: pathlib.Path, abstract: Any
) -> Any:
    """Read a folder into the shapes, types and shardings of `abstract`."""
    saved, wanted = _read_note(folder)["arrays"], _describe(abstract)
    for name in sorted(saved.keys() | wanted.keys()):
        on_disk, in_model = (tree.get(name, "missing") for tree in (saved, wanted))
        if on_disk != in_model:
            raise UserError(
                f"{folder} does not fit this model: {name} is {on_disk} on disk and "
                f"{in_model} in the model. Use the config that it was trained with."
            )
    return saver.restore(folder, jax.tree.map(_as_abstract, abstract))


def _as_abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    """Return a leaf's shape, type and sharding, by default on one device."""
    sharding = getattr(leaf, "sharding", None)
    if sharding is None:
        sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)


def _explain(error: BaseException, step: int, directory: pathlib.Path) -> BaseException:
    """Turn an error of the disk into one that a person can act on."""
    chain: BaseException | None = error
    while chain is not None:
        is_disk = isinstance(chain, OSError) and chain.errno in _DISK_ERRORS
        if is_disk or any(words in str(chain) for words in _DISK_WORDS):
            reason = next((w for w in _DISK_WORDS if w in str(chain)), str(chain))
            return UserError(
                f"Step {step} could not be saved to {directory}: {reason}. Earlier "
                "checkpoints are untouched. Make room, or keep fewer of them, and "
                "start the same command again; it goes on from the last one."
            )
        chain = chain.__cause__ or chain.__context__
    return error


def _is_not_a_save_traceback(record: logging.LogRecord) -> bool:
    """Drop the traceback that Orbax logs of a failed save, which is raised as well."""
    return not (record.exc_info and "orbax" in record.pathname)
