"""Checkpoints of a run: saved in the background, checked before they are used.

A run's folder holds

    checkpoints/STEP   the full state after STEP updates, of the newest few steps
    parameters/STEP    what is evaluated after STEP updates (the moving average where
                       there is one), of the newest several steps and of the best

Each STEP folder is written by Orbax under a temporary name, then renamed; step.json
says what it holds, and checksums.json, written last, that it is whole.
"""

import contextlib
import json
import logging
import math
import os
import pathlib
import threading
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from transformer_jax.errors import UserError
from transformer_jax.training import params_choice, step_folders
from transformer_jax.training.params_choice import Which
from transformer_jax.training.save_failures import (
    explain,
    quiet_background,
    wait_for_other_writes,
)
from transformer_jax.training.saved_arrays import (
    check_written,
    describe_arrays,
    read_arrays,
)
from transformer_jax.training.state import TrainState
from transformer_jax.training.step_folders import read_note

_LOGGER = logging.getLogger(__name__)


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
        self._savers = {
            parent: ocp.StandardCheckpointer()
            for parent in (self._states, self._params)
        }
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

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

        What the store holds of this step, left by a run that was broken off, is
        replaced, and what was only begun is removed before this is written. What it
        holds of later steps stays until the run comes there again.

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
        note = {
            "step": step,
            "score": score if params_choice.is_score(score) else None,
            "rng": str(jax.random.key_impl(rng)),
            "metadata": dict(metadata),
        }
        saved = {"state": state, "rng": jax.random.key_data(rng)}
        # The state first: weights that are whole then had one, and it makes up for
        # weights that are not.
        self._begin(
            step, {self._states: saved, self._params: state.evaluated_params}, note
        )

    def _begin(
        self, step: int, trees: Mapping[pathlib.Path, Any], note: Mapping[str, Any]
    ) -> None:
        """Begin to write trees into their folders; a thread brings it to its end.

        Args:
          step: of all of them.
          trees: by the folder of all steps; finished in this order.
          note: what each of them says of itself, beside its arrays.
        """
        self.wait()
        quiet_background()
        notes = {
            parent: json.dumps({**note, "arrays": describe_arrays(tree)}, indent=1)
            for parent, tree in trees.items()
        }
        try:
            for parent in trees:
                parent.mkdir(parents=True, exist_ok=True)
            if jax.process_index() == 0:
                self.remove_begun()
                for parent in trees:
                    step_folders.make_way(parent / str(step))
            for parent, tree in trees.items():
                self._savers[parent].save(parent / str(step), tree, force=True)
        except Exception as error:
            raise explain(error, step, self._states) from error
        self._thread = threading.Thread(
            target=self._finish, args=(step, notes), name=f"save {step}"
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
            for saver in self._savers.values():
                saver.close()

    def steps(self) -> list[int]:
        """Return the steps whose full state was written to its end, in order."""
        return step_folders.finished_steps(self._states)

    def params_steps(self) -> list[int]:
        """Return the steps whose parameters were written to their end, in order."""
        return step_folders.finished_steps(self._params)

    def folders(self) -> list[pathlib.Path]:
        """Return the folders of all states and parameters, whole or not."""
        parents = (self._states, self._params)
        return [
            parent / str(step)
            for parent in parents
            for step in step_folders.all_steps(parent)
        ]

    def newest_params_steps(self) -> list[int]:
        """Return those of them that are kept as the newest, whatever they score.

        A best that is older stays too, but is none of the last.
        """
        return self.params_steps()[-self._keep_params :]

    def scores(self) -> dict[int, float]:
        """Return the validation score of each step that has kept parameters."""
        return params_choice.scores(self._params)

    def best_step(self) -> int | None:
        """Return the step of the highest score, the earliest of equals, if any."""
        return params_choice.highest(self.scores())

    def is_finished(self, num_steps: int) -> bool:
        """Say whether the newest state and its parameters are whole, and of the end."""
        newest = max(self.steps(), default=0)
        return newest >= num_steps and not any(
            step_folders.find_damage(parent / str(newest))
            for parent in (self._states, self._params)
        )

    def warn_of_damage(self, first: int = 0, last: float = math.inf) -> None:
        """Name the parameters from step `first` to `last` that are passed over.

        Only what shows without reading arrays: that is read, and refused, when asked
        for.
        """
        # The newest state was saved with its parameters.
        steps = {*step_folders.all_steps(self._params), *self.steps()[-1:]}
        for step in sorted(steps):
            folder = self._params / str(step)
            damage = params_choice.visible_damage(folder)
            if damage and first <= step <= last:
                step_folders.warn_of_damage(folder, damage)

    def check_states(self) -> None:
        """Refuse weights that a run without any state to go on from would write over.

        Raises:
          UserError: names them, and what can be done.
        """
        weights = self.params_steps()
        if weights and not self.steps():
            raise UserError(
                f"{self._states} holds no whole state to go on from, and "
                f"{self._params} holds the weights of step "
                f"{', '.join(map(str, weights))}, which a run that starts anew would "
                f"write over. {self._without_states()}"
            )

    def _without_states(self) -> str:
        return (
            "Copy the states back; or, in another --workdir, train on from the weights "
            f"that are left, by --config.training.init_from={self._states.parent}, or "
            "start over."
        )

    def restore(
        self, abstract_state: TrainState
    ) -> tuple[TrainState, jax.Array, dict[str, Any]] | None:
        """Read the newest whole state, passing over damaged ones with a warning.

        Where the parameters of its step are missing or damaged, they are written anew.

        Args:
          abstract_state: shapes, types and shardings to read into; arrays will do.

        Returns:
          state, rng and metadata as they were saved; None if nothing was ever saved.

        Raises:
          UserError: if anything was saved but no state is whole, or it is of another
            model.
        """
        steps = step_folders.all_steps(self._states)
        newest = step_folders.newest_whole(self._states, steps)
        if newest is not None:
            return self._restore_state(newest, abstract_state)
        # One that was never finished and none beside it: killed during the first save.
        if len(steps) > 1 or self.steps():
            raise UserError(
                f"None of the {len(steps)} checkpoints in {self._states} is whole. "
                + self._without_states()
            )
        self.check_states()
        return None

    def resolve(self, which: Which) -> int:
        """Return the step that a number, "best" or "last" stands for.

        Args:
          which: a step; "best", the one of the highest validation score; or "last", the
            newest whole one. Damaged ones are passed over with a warning.

        Raises:
          UserError: if there is no such step.
        """
        return params_choice.resolve(self._params, which, self.warn_of_damage)

    def restore_params(self, which: Which, abstract_params: Any) -> Any:
        """Read the parameters of one step.

        Args:
          which: a step, "best" or "last"; see `resolve`.
          abstract_params: shapes, types and shardings to read into; arrays will do.

        Raises:
          UserError: if the step is missing, damaged or of another model.
        """
        step = self.resolve(which)
        folder = self._params / str(step)
        if damage := step_folders.find_damage(folder):
            others = ", ".join(str(s) for s in self.params_steps() if s != step)
            raise UserError(
                f"The parameters {folder} are damaged: {damage}. Use another step; the "
                f"run holds {others or 'no other'}."
            )
        return read_arrays(self._savers[self._params], folder, abstract_params)

    def _restore_state(
        self, step: int, abstract_state: TrainState
    ) -> tuple[TrainState, jax.Array, dict[str, Any]]:
        folder, saver = self._states / str(step), self._savers[self._states]
        note = read_note(folder)
        some_rng = jax.eval_shape(lambda: jax.random.key(0, impl=note["rng"]))
        abstract_rng = jax.eval_shape(jax.random.key_data, some_rng)
        # Orbax wants back each part that it wrote, and older states have parts that are
        # gone today. Those held nothing: an array would be missed below.
        on_disk = saver.metadata(folder).item_metadata["state"]
        parts = vars(abstract_state)
        abstract = {"state": dict.fromkeys(on_disk) | parts, "rng": abstract_rng}
        saved = read_arrays(saver, folder, abstract)
        state = TrainState(**{name: saved["state"][name] for name in parts})
        # By way of the host, so that it is tied to no device and goes with any mesh.
        rng_data = jnp.asarray(np.asarray(saved["rng"]))
        rng = jax.random.wrap_key_data(rng_data, impl=note["rng"])
        params = self._params / str(step)
        if damage := step_folders.find_damage(params):
            _LOGGER.warning(
                "%s is written anew from the state beside it: %s.", params, damage
            )
            self._begin(step, {self._params: state.evaluated_params}, note)
        return state, rng, note["metadata"]

    def _finish(self, step: int, notes: Mapping[pathlib.Path, str]) -> None:
        """Bring a save to its end, in a thread: notes, checksums, then old steps go."""
        try:
            # All, even if one fails: nothing may be removed under a writer's hands.
            with contextlib.ExitStack() as stack:
                for parent in notes:
                    stack.callback(self._savers[parent].wait_until_finished)
            if jax.process_index() == 0:
                for parent, note in notes.items():
                    folder = parent / str(step)
                    arrays = json.loads(note)["arrays"]
                    check_written(self._savers[parent], folder, arrays)
                    (folder / step_folders.NOTE).write_text(note, encoding="utf-8")
                    step_folders.write_checksums(folder)
                self._remove_old(step)
        except BaseException as error:
            self._failure = explain(error, step, self._states)
            self._failure.__cause__ = error
            wait_for_other_writes()
            self._remove_unfinished(step)

    def remove_begun(self) -> None:
        """Remove what still has the temporary name of a save that was broken off."""
        for parent in (self._states, self._params):
            for path in step_folders.saves_in(parent):
                if not path.name.isdigit():
                    step_folders.remove(path)

    def _remove_unfinished(self, step: int) -> None:
        """Give back the room that a failed save of `step` took."""
        for parent in (self._states, self._params):
            for path, its_step in step_folders.saves_in(parent).items():
                if its_step == step and not step_folders.is_finished(path):
                    step_folders.remove(path)

    def _remove_old(self, newest: int) -> None:
        """Remove what need not be kept of the steps up to `newest`."""
        scores = {step: s for step, s in self.scores().items() if step <= newest}
        states = [step for step in self.steps() if step <= newest]
        params = [step for step in self.params_steps() if step <= newest]
        kept_states = {*states[-self._keep_states :]}
        kept_params = {*params[-self._keep_params :], params_choice.highest(scores)}
        for parent, kept in ((self._states, kept_states), (self._params, kept_params)):
            for path, step in step_folders.saves_in(parent).items():
                if step <= newest and not (path.name.isdigit() and step in kept):
                    is_params = path == self._params / str(step)
                    if is_params and (damage := params_choice.visible_damage(path)):
                        # It may have been the best: nobody can tell any more.
                        _LOGGER.warning("Removing %s, an old step: %s.", path, damage)
                    step_folders.remove(path)
