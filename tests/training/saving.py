"""What tests of checkpoints save, and a file of it to damage."""

import pathlib

import jax

from tests.training.toy import random_state
from transformer_jax.training.checkpoints import CheckpointStore
from transformer_jax.training.state import TrainState

RNG = jax.random.key(17)


def save(
    store: CheckpointStore,
    step: int,
    state: TrainState | None = None,
    *,
    score: float | None = None,
    **metadata: object,
) -> None:
    """Begin to save a state, by default one of random numbers that `step` draws."""
    state = random_state(200, seed=step) if state is None else state
    store.save(step, state, rng=RNG, metadata=metadata, score=score)


def a_file_of(folder: pathlib.Path) -> pathlib.Path:
    """The largest file that Orbax wrote of a step, where the numbers are."""
    return max(folder.rglob("d/*"), key=lambda path: path.stat().st_size)
