"""Which saved parameters "best" and "last" stand for.

Told by the folders and their notes alone: arrays are read when they are asked for.
"""

import math
import pathlib
from collections.abc import Callable, Mapping
from typing import Literal, TypeGuard

from transformer_jax.errors import UserError
from transformer_jax.training import step_folders

Which = int | Literal["best", "last"]


def is_score(score: float | None) -> TypeGuard[float]:
    """Say whether a number can be the best score.

    A score of 0 cannot: nothing has been learnt yet, and a best among zeros would be an
    accident.
    """
    return score is not None and math.isfinite(score) and score != 0


def highest(scores: Mapping[int, float]) -> int | None:
    """Return the step of the highest score, the earliest of equals, if any."""
    return max(scores, key=lambda step: (scores[step], -step), default=None)


def visible_damage(folder: pathlib.Path) -> str | None:
    """Say what is wrong with a step's parameters, as far as is seen without arrays."""
    if not folder.is_dir():
        return "it is missing"
    if not step_folders.is_finished(folder):
        return step_folders.UNFINISHED
    try:
        step_folders.read_note(folder)["score"]
    except (OSError, ValueError, LookupError, TypeError):
        return f"its {step_folders.NOTE} cannot be read"
    return None


def scores(parent: pathlib.Path) -> dict[int, float]:
    """Return the validation score of each step in `parent` that has one."""
    found = {}
    for step in step_folders.finished_steps(parent):
        folder = parent / str(step)
        # A note that cannot be read belongs to a damaged step, and that is no best.
        if visible_damage(folder) is None:
            score = step_folders.read_note(folder)["score"]
            if is_score(score):
                found[step] = score
    return found


def resolve(
    parent: pathlib.Path, which: Which, warn_of_damage: Callable[..., None]
) -> int:
    """Return the step that a number, "best" or "last" stands for.

    Args:
      parent: the folder of all steps.
      which: see `CheckpointStore.resolve`.
      warn_of_damage: names the steps that are passed over, from one on or all.

    Raises:
      UserError: if there is no such step.
    """
    steps = step_folders.finished_steps(parent)
    if not steps:
        warn_of_damage()
        raise UserError(
            f"There is no whole checkpoint in {parent}. Train the run first, "
            "or name the folder of another run."
        )
    held = f"{parent} holds the steps {', '.join(map(str, steps))}"
    if which == "last":
        warn_of_damage(steps[-1])
        whole = step_folders.newest_whole(parent, steps)
        if whole is None:
            raise UserError(f"{held}, but none of them is whole.")
        return whole
    if which == "best":
        warn_of_damage()
        best = highest(scores(parent))
        if best is None:
            raise UserError(
                f"{held}, but none of them has a validation score, so none is the "
                'best. Use "last" or one of these steps.'
            )
        return best
    if which not in steps:
        # One that was begun is there, and what is wrong with it is said later.
        if which in step_folders.all_steps(parent):
            return int(which)
        raise UserError(f"{held}, but not {which}. Use one of these.")
    return int(which)
