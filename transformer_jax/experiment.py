"""From a config to what it names: model, optimizer, steps, a run to train or use.

This is where a `ConfigDict` ends: everything below takes plain numbers, dataclasses and
functions.
"""

import dataclasses
import functools
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import ml_collections
import optax

from transformer_jax.corpus import Corpus, open_tokenizer, prepare_corpus
from transformer_jax.data.batch import Batch
from transformer_jax.data.batch_plan import BatchPlan
from transformer_jax.data.batch_shapes import choose_shapes
from transformer_jax.data.pipeline import evaluation_batches, make_batches
from transformer_jax.data.tokenizer import Tokenizer
from transformer_jax.decoding.translate import Translator, TranslatorSettings
from transformer_jax.errors import UserError
from transformer_jax.evaluation.bleu import score
from transformer_jax.evaluation.scores import evaluate_loss
from transformer_jax.models import MODELS
from transformer_jax.models.transformer import Transformer, init_params
from transformer_jax.run_directory import RunDirectory
from transformer_jax.sharding.mesh import make_mesh, put_ahead, replicated, shard_batch
from transformer_jax.training import loop, metrics
from transformer_jax.training.averaging import average_last
from transformer_jax.training.checkpoints import CheckpointStore, Which
from transformer_jax.training.objectives import LossFn, translation_objective
from transformer_jax.training.optimizer import (
    Schedule,
    ScheduleSettings,
    make_optimizer,
    make_schedule,
)
from transformer_jax.training.state import TrainState, create_state
from transformer_jax.training.step import eval_step, train_step

_LOGGER = logging.getLogger(__name__)
# Validation compiles a step for each of its shapes, and is soon over.
_MAX_VALIDATION_SHAPES = 3


def train(config: ml_collections.ConfigDict, workdir: str | os.PathLike[str]) -> None:
    """Train as `config` says, or go on with what `workdir` holds.

    Raises:
      UserError: for anything in the config, the text or the run that does not fit.
    """
    directory = RunDirectory(workdir)
    for change in directory.claim(config):
        _LOGGER.info("Going on with %s", change)
    keep_params = config.checkpoints.keep_weights
    with CheckpointStore(directory.root, keep_params=keep_params) as store:
        newest = max(store.steps(), default=0)
        if newest >= config.training.num_steps:
            _LOGGER.info(
                "%s is finished: %d of %d steps are done. A larger "
                "--config.training.num_steps goes on.",
                directory.root,
                newest,
                config.training.num_steps,
            )
            return
        reason = _train(config, directory, store)
    _LOGGER.info("%s: %s at step %d", directory.root, reason, store.steps()[-1])


def _train(
    config: ml_collections.ConfigDict, directory: RunDirectory, store: CheckpointStore
) -> loop.StopReason:
    """Assemble everything that a training run needs, and run it."""
    corpus = prepare_corpus(config, directory)
    model = build_model(config.model, corpus.source_tokenizer, corpus.target_tokenizer)
    schedule, optimizer = build_schedule(config), build_optimizer(config.optimizer)
    loss_fn = translation_objective(
        model,
        label_smoothing=config.training.label_smoothing,
        formula=config.training.label_smoothing_formula,
    )
    mesh = make_mesh(_devices(config.sharding))
    init_rng, dropout_rng = jax.random.split(jax.random.key(config.seed))
    params = _initial_params(config, model, init_rng)
    state = jax.device_put(
        create_state(params, optimizer, use_ema=config.optimizer.ema_decay > 0),
        replicated(mesh),
    )
    metadata: Mapping[str, Any] = {"tokenizer": corpus.source_tokenizer.fingerprint}
    if (restored := store.restore(state)) is not None:
        state, dropout_rng, metadata = restored
        _LOGGER.info("Going on from step %d", int(state.step))
    else:
        _LOGGER.info("%d parameters, %d devices", count_params(params), mesh.size)
    start_step = int(state.step)

    step_fn = jax.jit(
        functools.partial(
            train_step,
            loss_fn=loss_fn,
            optimizer=optimizer,
            schedule=schedule,
            num_micro_batches=config.training.num_micro_batches,
            ema_decay=config.optimizer.ema_decay or None,
        ),
        donate_argnums=0,
        out_shardings=(replicated(mesh), None),
    )

    def batches_from(step: int) -> Iterator[Batch]:
        batches = make_batches(
            corpus.train,
            corpus.plan,
            specials=corpus.source_tokenizer.specials,
            start_step=step,
            num_threads=config.data.num_workers,
        )
        return put_ahead(batches, mesh)

    directory.write_config(config)
    with metrics.MetricWriters(
        [
            metrics.JsonLinesWriter(directory.metrics_path, start_step),
            metrics.TensorBoardWriter(directory.events, start_step),
            metrics.ProgressWriter(config.training.num_steps, start_step),
        ]
    ) as writers:
        _, reason = loop.train(
            state,
            train_step=step_fn,
            dropout_rng=jax.device_put(dropout_rng, replicated(mesh)),
            batches_from=batches_from,
            learning_rate=schedule,
            evaluate=_validation(config, directory, corpus, model, loss_fn, mesh),
            store=store,
            writers=writers,
            settings=loop_settings(config),
            metadata=metadata,
        )
    return reason


def _validation(
    config: ml_collections.ConfigDict,
    directory: RunDirectory,
    corpus: Corpus,
    model: Transformer,
    loss_fn: LossFn,
    mesh: jax.sharding.Mesh,
) -> Callable[[TrainState], Mapping[str, float]]:
    """Return the function that scores a state on the validation split."""
    lengths = corpus.validation.source_lengths, corpus.validation.target_lengths
    shapes = choose_shapes(
        *lengths,
        tokens_per_batch=config.decoding.tokens_per_batch,
        max_shapes=_MAX_VALIDATION_SHAPES,
        row_multiple=config.data.row_multiple,
    )
    plan = BatchPlan(*lengths, shapes, seed=0)
    step_fn = jax.jit(functools.partial(eval_step, loss_fn=loss_fn))
    sources, references = directory.read_split("validation")
    translator = build_translator(
        config,
        model,
        None,
        corpus.source_tokenizer,
        corpus.target_tokenizer,
        beam_size=config.evaluation.beam_size,
    )

    def evaluate(state: TrainState) -> Mapping[str, float]:
        params = state.evaluated_params
        batches = evaluation_batches(
            corpus.validation, plan, specials=corpus.source_tokenizer.specials
        )
        sharded = (shard_batch(batch, mesh) for batch in batches)
        means = evaluate_loss(params, sharded, step_fn)
        translator.params = params
        hypotheses = [line.text for line in translator.translate(sources)]
        scores = score(hypotheses, references, config.data.target_language)
        return {
            "loss": means["loss"],
            "perplexity": means["perplexity"],
            "accuracy": means["accuracy"],
            "sacrebleu": scores.sacrebleu,
            "chrf": scores.chrf,
        }

    return evaluate


def build_model(
    config: ml_collections.ConfigDict, source: Tokenizer, target: Tokenizer
) -> Transformer:
    """Return the model that `config.model` describes, for these vocabularies.

    Raises:
      UserError: if there is no such model, or its sizes do not fit together.
    """
    fields = config.to_dict()
    name = fields.pop("name")
    if name not in MODELS:
        raise UserError(
            f"config.model.name={name!r} is not a model. Choose one of "
            f"{', '.join(MODELS)}."
        )
    model_class, config_class = MODELS[name]
    fields["dtype"] = jnp.dtype(fields["dtype"])
    return model_class(
        config_class(
            source_vocab_size=source.vocab_size,
            target_vocab_size=target.vocab_size,
            **fields,
        )
    )


def build_schedule(config: ml_collections.ConfigDict) -> Schedule:
    """Return the learning rate after so many updates (Section 5.3)."""
    optimizer = config.optimizer
    return make_schedule(
        ScheduleSettings(
            name=optimizer.schedule,
            d_model=config.model.d_model,
            warmup_steps=optimizer.warmup_steps,
            num_steps=optimizer.decay_steps,
            peak=optimizer.peak_learning_rate,
            final_fraction=optimizer.final_share,
            factor=optimizer.learning_rate_factor,
        )
    )


def build_optimizer(config: ml_collections.ConfigDict) -> optax.GradientTransformation:
    """Return what `config.optimizer` describes, without the learning rate."""
    return make_optimizer(
        beta1=config.beta1,
        beta2=config.beta2,
        epsilon=config.epsilon,
        clip_norm=config.max_gradient_norm or None,
    )


def build_translator(
    config: ml_collections.ConfigDict,
    model: Transformer,
    params: Any,
    source: Tokenizer,
    target: Tokenizer,
    **changes: Any,
) -> Translator:
    """Return a translator as `config.decoding` says, with `changes` to its settings."""
    is_learned = config.model.positions == "learned"
    settings = {
        "beam_size": config.decoding.beam_size,
        "alpha": config.decoding.alpha,
        "length_penalty": config.decoding.length_penalty,
        "max_extra_length": config.decoding.max_extra_length,
        "tokens_per_batch": config.decoding.tokens_per_batch,
        "max_source_length": config.data.max_length,
        "max_output_length": config.model.max_positions if is_learned else None,
    }
    try:
        chosen = TranslatorSettings(**settings | changes)
        return Translator(model, params, source, target, chosen)
    except ValueError as error:
        raise UserError(str(error)) from error


def loop_settings(config: ml_collections.ConfigDict) -> loop.LoopSettings:
    """Return when to log, evaluate and save; 0 in the config means never."""
    return loop.LoopSettings(
        num_steps=config.training.num_steps,
        log_every_steps=config.training.log_every_steps,
        eval_every_steps=config.evaluation.every_steps or None,
        save_every_steps=config.checkpoints.every_steps or None,
        save_every_seconds=60 * config.checkpoints.every_minutes or None,
        patience=config.training.patience or None,
        score_name="sacrebleu",
        max_skips=config.training.max_skipped_updates,
    )


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
    workdir: str | os.PathLike[str], checkpoint: str | None = None, average: int = 0
) -> TrainedRun:
    """Open a run to translate with it.

    Args:
      workdir: the run.
      checkpoint: "best" by validation score, "last", or a number of steps; None: the
        best, or the last where none has a score yet.
      average: use the mean of this many last weights instead; 0: one checkpoint.

    Raises:
      UserError: if there is no such run or checkpoint.
    """
    directory = RunDirectory(workdir)
    config = directory.read_config()
    tokenizer = open_tokenizer(directory)
    model = build_model(config.model, tokenizer, tokenizer)
    abstract = jax.eval_shape(lambda: init_params(model, jax.random.key(0)))
    with CheckpointStore(directory.root) as store:
        if average:
            mean = average_last(store, average, abstract)
            params, steps = mean.params, mean.steps
        else:
            if checkpoint is None:
                checkpoint = "last" if store.best_step() is None else "best"
            which = _which(checkpoint)
            steps = (store.resolve(which),)
            params = store.restore_params(which, abstract)
    return TrainedRun(directory, config, model, params, tokenizer, tokenizer, steps)


def _which(checkpoint: str) -> Which:
    if checkpoint == "best":
        return "best"
    if checkpoint == "last":
        return "last"
    if checkpoint.isdigit():
        return int(checkpoint)
    raise UserError(
        f"--checkpoint={checkpoint} is neither best, last nor a number of steps."
    )


def count_params(params: Any) -> int:
    """Return the number of parameters."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def _devices(config: ml_collections.ConfigDict) -> list[jax.Device]:
    """Return the devices that share the rows of a batch."""
    devices = jax.devices()
    if config.data > len(devices):
        raise UserError(
            f"config.sharding.data={config.data}, but there are {len(devices)} "
            "devices. Use 0 for all of them."
        )
    return devices[: config.data or None]


def _initial_params(
    config: ml_collections.ConfigDict, model: Transformer, rng: jax.Array
) -> Any:
    """Return new weights, or those of the run to start from."""
    if config.training.init_from is None:
        return init_params(model, rng)
    return load_run(config.training.init_from).params
