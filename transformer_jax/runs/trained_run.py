"""A run to translate with: its model, tokenizers and chosen weights."""

import dataclasses
import os
from typing import Any

import jax
import ml_collections

from transformer_jax.runs.components import build_model, build_translator
from transformer_jax.runs.corpus import open_tokenizer
from transformer_jax.data.tokenizer import Tokenizer
from transformer_jax.decoding.translator import Translator
from transformer_jax.errors import UserError
from transformer_jax.models.transformer import Transformer, init_params
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.training.averaging import average_last, average_range
from transformer_jax.training.checkpoints import CheckpointStore, Which


@dataclasses.dataclass(frozen=True)
class TrainedRun:
    """A run with weights to translate with; needs nothing but its directory.

    Attributes:
      directory: the run.
      config: as it was trained.
      model: its module.
      params: the weights that were chosen.
      source_tokenizer: of the source side.
      target_tokenizer: of the target side.
      steps: the checkpoints that `params` are, or are the mean of.
    """

    directory: RunDirectory
    config: ml_collections.ConfigDict
    model: Transformer
    params: Any
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    steps: tuple[int, ...]

    def translator(self, **changes: Any) -> Translator:
        """Return a translator as the config says, with `changes` to its settings."""
        return build_translator(
            self.config,
            self.model,
            self.params,
            self.source_tokenizer,
            self.target_tokenizer,
            **changes,
        )


def load_run(
    workdir: str | os.PathLike[str],
    checkpoint: str | None = None,
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
    model = build_model(config.model, tokenizer, tokenizer)
    params, steps = read_weights(directory, model, checkpoint, average, average_steps)
    return TrainedRun(directory, config, model, params, tokenizer, tokenizer, steps)


def read_weights(
    directory: RunDirectory,
    model: Transformer,
    checkpoint: str | None = None,
    average: int = 0,
    average_steps: tuple[int, int, int | None] | None = None,
) -> tuple[Any, tuple[int, ...]]:
    """Return weights of a run for `model`, and the steps that they come from.

    `load_run` says what chooses them.

    Raises:
      UserError: if there is no such checkpoint, or it is of a model of other sizes.
    """
    abstract = jax.eval_shape(lambda: init_params(model, jax.random.key(0)))
    keep_params = directory.read_config().checkpoints.keep_weights
    with CheckpointStore(directory.root, keep_params=keep_params) as store:
        if average_steps is not None:
            mean = average_range(store, *average_steps, abstract)
            return mean.params, mean.steps
        if average:
            mean = average_last(store, average, abstract)
            return mean.params, mean.steps
        which = _which(checkpoint, store)
        return store.restore_params(which, abstract), (store.resolve(which),)


def _which(checkpoint: str | None, store: CheckpointStore) -> Which:
    if checkpoint is None:
        return "last" if store.best_step() is None else "best"
    if checkpoint == "best":
        return "best"
    if checkpoint == "last":
        return "last"
    if checkpoint.isdigit():
        return int(checkpoint)
    raise UserError(
        f"--checkpoint={checkpoint} is neither best, last nor a number of steps."
    )
