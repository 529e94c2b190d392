"""A run to use: its model, tokenizers and chosen weights."""

import dataclasses
import logging
import os
from collections.abc import Callable
from typing import Any

import ml_collections

from transformer_jax.data.tokenizer_file import AnyTokenizer
from transformer_jax.decoding.classifier import Classifier
from transformer_jax.decoding.translator import Translator
from transformer_jax.errors import UserError
from transformer_jax.models.parameters import param_shapes
from transformer_jax.runs.averages import find_doubts
from transformer_jax.runs.components import (
    Parts,
    build_classifier,
    build_parts,
    build_translator,
)
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.joint_tokenizer import open_tokenizer
from transformer_jax.training.averaging import average_last, average_range
from transformer_jax.training.checkpoints import CheckpointStore
from transformer_jax.training.params_choice import Which

# Parameters, and the steps that they are, or are the mean, of.
_Params = tuple[Any, tuple[int, ...]]

_LOGGER = logging.getLogger(__name__)
# How often to read again what training removed meanwhile.
_MOST_TRIES = 5


@dataclasses.dataclass(frozen=True)
class TrainedRun:
    """A run with weights to use; needs nothing but its directory.

    Attributes:
      directory: the run.
      config: as it was trained.
      parts: its model and its task.
      params: the weights that were chosen.
      tokenizers: one for each sentence of a text.
      steps: the checkpoints that `params` are, or are the mean of.
    """

    directory: RunDirectory
    config: ml_collections.ConfigDict
    parts: Parts
    params: Any
    tokenizers: tuple[AnyTokenizer, ...]
    steps: tuple[int, ...]

    @property
    def source_tokenizer(self) -> AnyTokenizer:
        """Of the first side."""
        return self.tokenizers[0]

    @property
    def target_tokenizer(self) -> AnyTokenizer:
        """Of the last side."""
        return self.tokenizers[-1]

    def translator(self, **changes: Any) -> Translator:
        """Return a translator as the config says, with `changes` to its settings.

        Raises:
          UserError: if the run does not translate, or the settings do not fit together.
        """
        if not self.parts.task.can_translate:
            raise UserError(
                f"{self.directory.root} was trained for the task "
                f"{self.config.task.name!r}, whose runs do not translate. What its "
                f"validations found is in {self.directory.metrics_path}; `predict` is "
                "for runs that classify."
            )
        return build_translator(
            self.config,
            self.parts.model,
            self.params,
            self.tokenizers,
            **changes,
        )

    def classifier(self) -> Classifier:
        """Return what classifies texts.

        Raises:
          UserError: if the run does not classify.
        """
        if self.parts.task.labels is None:
            raise UserError(
                f"{self.directory.root} was trained for the task "
                f"{self.config.task.name!r}, whose runs do not classify. See "
                "`translate`."
            )
        return build_classifier(
            self.config, self.parts, self.params, self.source_tokenizer
        )


def load_run(
    workdir: str | os.PathLike[str],
    checkpoint: str | int | None = None,
    average: int = 0,
    average_steps: tuple[int, int, int | None] | None = None,
) -> TrainedRun:
    """Open a run to translate with it.

    Args:
      workdir: the run.
      checkpoint: "best" by validation score, "last", or a number of steps; None: the
        best, or the last where none has a score yet.
      average: use the mean of this many last weights instead; 0: one checkpoint.
      average_steps: use the mean over this range of steps instead: first, last and how
        far apart, or None for all that are kept there.

    Raises:
      UserError: if there is no such run or checkpoint, or its tokenizer is another.
    """
    directory = RunDirectory(workdir)
    config = directory.read_config()
    tokenizer = open_tokenizer(directory)
    parts = build_parts(config, tokenizer.vocab_size)
    tokenizers = (tokenizer,) * parts.task.num_sentences
    params, steps = read_params(directory, parts, checkpoint, average, average_steps)
    for doubt in find_doubts(steps, config.optimizer.warmup_steps):
        _LOGGER.warning("The mean of %d checkpoints %s.", len(steps), doubt)
    return TrainedRun(directory, config, parts, params, tokenizers, steps)


def read_params(
    directory: RunDirectory,
    parts: Parts,
    checkpoint: str | int | None = None,
    average: int = 0,
    average_steps: tuple[int, int, int | None] | None = None,
) -> _Params:
    """Return parameters of a run for `parts.model`, and the steps that they are of.

    `load_run` says what chooses them. The run may be in training: what is removed while
    it is read is read again, or another step in its place.

    Raises:
      UserError: if there is no such checkpoint, or it is of a model of other sizes.
    """
    _check_choice(checkpoint, average, average_steps)
    abstract = param_shapes(parts.model, parts.task.inputs)
    saving = directory.read_config().checkpoints

    def read() -> _Params:
        if average_steps is not None:
            mean = average_range(store, *average_steps, abstract)
            return mean.params, mean.steps
        if average:
            mean = average_last(store, average, abstract, _describe(saving))
            return mean.params, mean.steps
        step = store.resolve(_which(checkpoint, store))
        return store.restore_params(step, abstract), (step,)

    with CheckpointStore(directory.root, keep_params=saving.keep_params) as store:
        return _read_while_training(store, read)


def _read_while_training(
    store: CheckpointStore, read: Callable[[], _Params]
) -> _Params:
    """Read, and read again if a step that was there is not there any more."""
    for _ in range(_MOST_TRIES):
        before = set(store.params_steps())
        failure: Exception | None = None
        try:
            params, steps = read()
        except Exception as error:  # Of a half removed step Orbax says many things.
            steps, failure = tuple(before), error
        removed = before.difference(store.params_steps()).intersection(steps)
        if not removed:
            if failure is not None:
                raise failure
            return params, steps
        _LOGGER.warning(
            "Training removed step %s while it was read; reading again.",
            ", ".join(map(str, sorted(removed))),
        )
    raise UserError(
        f"Training removed steps {_MOST_TRIES} times while they were read. Try again, "
        "or train with a larger config.checkpoints.keep_params."
    )


def _check_choice(
    checkpoint: str | int | None,
    average: int,
    average_steps: tuple[int, int, int | None] | None,
) -> None:
    """Make sure that weights are chosen in one way, and one that is understood."""
    given = {
        "checkpoint": checkpoint,
        "average": average or None,
        "average_steps": average_steps,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} exclude each other. Give one of them.")
    if checkpoint not in (None, "best", "last") and not str(checkpoint).isdecimal():
        raise UserError(
            f"--checkpoint={checkpoint} is neither best, last nor a number of steps."
        )
    if not isinstance(average, int):
        raise UserError(f"average={average!r} is not a number of checkpoints, as 5.")
    if average_steps is not None and not _is_range(average_steps):
        raise UserError(
            f"average_steps={average_steps!r}: expected first, last and how far apart, "
            "as (1000, 5000, 1000), or None for that: all that are kept."
        )


def _is_range(steps: object) -> bool:
    if not isinstance(steps, tuple) or len(steps) != 3:
        return False
    first, last, every = steps
    numbers = (first, last, 1 if every is None else every)
    return all(isinstance(n, int) for n in numbers) and numbers[2] > 0


def _which(checkpoint: str | int | None, store: CheckpointStore) -> Which:
    if checkpoint is None:
        return "last" if store.best_step() is None else "best"
    if checkpoint == "best":
        return "best"
    if checkpoint == "last":
        return "last"
    return int(checkpoint)


def _describe(saving: ml_collections.ConfigDict) -> str:
    """Say when a run saves, and how much of it stays."""
    return (
        "It saves by config.checkpoints.save_every_steps="
        f"{saving.save_every_steps} and "
        f"save_every_minutes={saving.save_every_minutes:g}, and keeps the last "
        f"{saving.keep_params} (keep_params). "
    )
