"""Training as a config says: text, model, steps and validation put together."""

import dataclasses
import functools
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import ml_collections
import optax

from transformer_jax.config.checks import check_config
from transformer_jax.config.tree import leaves
from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.batch_shapes import choose_shapes
from transformer_jax.data.bucketed_plan import plan_buckets
from transformer_jax.data.pipeline import evaluation_batches, make_batches
from transformer_jax.errors import UserError
from transformer_jax.evaluation.means import mean_metrics
from transformer_jax.fields import split_names
from transformer_jax.files import remove_partials
from transformer_jax.models.parameters import count_params, init_params, param_axes
from transformer_jax.runs.components import (
    Parts,
    build_mesh,
    build_optimizer,
    build_parts,
    build_schedule,
    build_task,
    check_parts,
    languages,
    loop_settings,
    translator_settings,
)
from transformer_jax.runs.corpus import Corpus, prepare_corpus
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.hardware_record import record_hardware
from transformer_jax.runs.joint_tokenizer import find_vocab_size
from transformer_jax.runs.layer_stacking import LayerStacking, choose_stacking
from transformer_jax.runs.run_lock import training_lock
from transformer_jax.runs.starting_point import check_start, initial_params
from transformer_jax.runs.text import check_source
from transformer_jax.sharding.mesh import (
    batch_sharding,
    describe_devices,
    placed_shape,
    placed_shapes,
    put_ahead,
    replicated,
    shard_batch,
)
from transformer_jax.sharding.rules import param_shardings
from transformer_jax.tasks.task import ValidationParts
from transformer_jax.training import loop
from transformer_jax.training.checkpoints import CheckpointStore
from transformer_jax.training.compiled_step import compiling_ahead
from transformer_jax.training.progress import ProgressWriter
from transformer_jax.training.saved_arrays import check_directory
from transformer_jax.training.state import TrainState, create_state
from transformer_jax.training.step import LossFn, eval_step, train_step
from transformer_jax.training.trackers import make_trackers
from transformer_jax.training.trackers.tracked_run import TrackedRun
from transformer_jax.training.writers import (
    JsonLinesWriter,
    MetricWriter,
)

_LOGGER = logging.getLogger(__name__)
# Validation compiles a step for each of its shapes, and is soon over.
_MAX_VALIDATION_SHAPES = 3


def train(
    config: ml_collections.ConfigDict,
    workdir: str | os.PathLike[str],
    writers: Sequence[MetricWriter] | None = None,
) -> loop.StopReason:
    """Train as `config` says, or go on with what `workdir` holds.

    Args:
      config: from `transformer_jax.config.default`, with its changes.
      workdir: the run's directory; made if it is missing.
      writers: where numbers go; None: to `default_writers`.

    Returns:
      Why training ended.

    Raises:
      UserError: for anything in the config, the text or the run that does not fit.
    """
    check_config(config)
    directory, task = RunDirectory(workdir), build_task(config)
    check_directory(directory.root)
    directory.check_place()
    if writers is None:
        writers = default_writers(config, directory)
    vocab_size = find_vocab_size(config, directory)
    check_parts(config, vocab_size)
    check_source(config, task)
    if config.training.init_from is not None and not directory.is_begun:
        # Now as well as after the text, which may take hours to prepare.
        check_start(config, build_parts(config, vocab_size))
    with (
        training_lock(directory.root) as require_lock,
        CheckpointStore(
            directory.root, keep_params=config.checkpoints.keep_params
        ) as store,
    ):
        remove_partials(directory.root)
        store.check_states()
        store.remove_begun()
        for change in directory.claim(config, task.sides):
            _LOGGER.info("Going on with %s", change)
        if store.is_finished(config.training.num_steps):
            _LOGGER.info(
                "%s is finished: %d of %d steps are done. A larger "
                "--config.training.num_steps goes on.",
                directory.root,
                store.steps()[-1],
                config.training.num_steps,
            )
            return "finished"
        reason = _train(config, directory, store, writers, require_lock)
    return reason


def default_writers(
    config: ml_collections.ConfigDict, directory: RunDirectory
) -> list[MetricWriter]:
    """Write into the run as JSON lines, to the config's trackers, to the terminal.

    Raises:
      UserError: if the package of a tracker is missing.
    """
    run = TrackedRun(
        name=directory.root.absolute().name,
        metrics=directory.metrics_path,
        events=directory.events,
        folder=directory.trackers,
        params=dict(leaves(config)),
    )
    return [
        JsonLinesWriter(directory.metrics_path),
        *make_trackers(split_names(config.training.trackers), run),
        ProgressWriter(device=jax.default_backend()),
    ]


def _train(
    config: ml_collections.ConfigDict,
    directory: RunDirectory,
    store: CheckpointStore,
    writers: Sequence[MetricWriter],
    require_lock: Callable[[], None],
) -> loop.StopReason:
    """Assemble everything that a training run needs, and run it."""
    corpus = prepare_corpus(config, directory)
    parts = build_parts(config, corpus.tokenizer.vocab_size)
    task = parts.task
    schedule, optimizer = build_schedule(config, parts.model), build_optimizer(config)
    loss_fn = task.make_objective(
        parts.model,
        label_smoothing=config.training.label_smoothing,
        label_smoothing_formula=config.training.label_smoothing_formula,
    )
    mesh = build_mesh(config)
    evaluate = _validation(config, directory, corpus, parts, loss_fn, mesh)
    start = _start(config, parts, optimizer, mesh, store)
    stacking = start.stacking
    record_hardware(directory, int(start.state.step), describe_devices(mesh))

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
        out_shardings=(stacking.shardings, None),
    )

    def make_batch(planned: PlannedBatch) -> Any:
        return task.make_batch(corpus.train, planned, corpus.specials)

    def batches_from(step: int) -> Iterator[Any]:
        batches = make_batches(
            make_batch,
            corpus.plan,
            start_step=step,
            num_threads=config.data.num_threads,
        )
        return put_ahead(batches, mesh)

    def as_saved(state: TrainState) -> TrainState:
        require_lock()
        return stacking.unstack(state)

    settings = loop_settings(config, task.score_name)
    firsts = corpus.plan.first_of_each_shape(int(start.state.step), settings.num_steps)
    rng = jax.device_put(start.dropout_rng, replicated(mesh))
    try:
        with compiling_ahead(
            step_fn,
            jax.tree.map(placed_shape, start.state, stacking.shardings),
            [
                placed_shapes(make_batch(batch), batch_sharding(mesh))
                for batch in firsts
            ],
            placed_shapes(rng, replicated(mesh)),
        ) as compiled_step:
            state, reason = loop.train(
                start.state,
                rng,
                loop.Procedure(
                    compiled_step,
                    batches_from,
                    schedule,
                    lambda state: evaluate(
                        stacking.unstack_params(state.evaluated_params)
                    ),
                    as_saved=as_saved,
                    waited_seconds=lambda: compiled_step.waited_seconds,
                    num_compiling=compiled_step.num_compiling,
                ),
                store=store,
                writers=writers,
                settings=settings,
                metadata=start.metadata,
            )
    except jax.errors.JaxRuntimeError as error:
        raise _explain_memory(error, config, mesh.size) from error
    _LOGGER.info("%s: %s at step %d", directory.root, reason, int(state.step))
    return reason


@dataclasses.dataclass(frozen=True)
class _Start:
    """Where training begins.

    Attributes:
      state: on the mesh, its layers stacked or not.
      stacking: which of the two; says where each array lies.
      dropout_rng: the run's dropout key.
      metadata: what the checkpoint held; nothing for a new run.
    """

    state: TrainState
    stacking: LayerStacking
    dropout_rng: jax.Array
    metadata: Mapping[str, Any]


def _start(
    config: ml_collections.ConfigDict,
    parts: Parts,
    optimizer: optax.GradientTransformation,
    mesh: jax.sharding.Mesh,
    store: CheckpointStore,
) -> _Start:
    """Go on from the newest checkpoint, or begin anew where there is none."""
    init_rng, dropout_rng = jax.random.split(jax.random.key(config.seed))
    use_ema = config.optimizer.ema_decay > 0
    model, inputs = parts.model, parts.task.inputs
    abstract_state = jax.eval_shape(
        lambda: create_state(init_params(model, init_rng, inputs), optimizer, use_ema)
    )
    of_params = param_shardings(param_axes(model, inputs), mesh)
    shardings = _state_shardings(abstract_state, of_params, optimizer, mesh)
    stacking = choose_stacking(
        config.training.layer_scan, model.layer_stacks, shardings
    )
    restored = store.restore(jax.tree.map(placed_shape, abstract_state, shardings))
    if restored is not None:
        state, dropout_rng, metadata = restored
        _LOGGER.info("Going on from step %d", int(state.step))
        return _Start(stacking.stack(state), stacking, dropout_rng, metadata)
    params = initial_params(config, parts, init_rng)
    state = jax.device_put(create_state(params, optimizer, use_ema), shardings)
    _LOGGER.info("%d parameters, %d devices", count_params(params), mesh.size)
    return _Start(stacking.stack(state), stacking, dropout_rng, {})


def _validation(
    config: ml_collections.ConfigDict,
    directory: RunDirectory,
    corpus: Corpus,
    parts: Parts,
    loss_fn: LossFn,
    mesh: jax.sharding.Mesh,
) -> Callable[[Any], Mapping[str, float]]:
    """Return the function that scores parameters on the validation split."""
    task = parts.task
    lengths = task.plan_lengths(corpus.validation.lengths)
    shapes = choose_shapes(
        *lengths,
        tokens_per_batch=config.decoding.tokens_per_batch,
        max_batch_shapes=_MAX_VALIDATION_SHAPES,
        row_multiple=config.data.row_multiple,
    )
    plan = plan_buckets(*lengths, shapes, seed=0)
    step_fn = jax.jit(functools.partial(eval_step, loss_fn=loss_fn))
    # Text that makes no batches is refused before the first step.
    task.make_batch(corpus.validation, plan.batch(0), corpus.specials)

    def means(params: Any) -> Mapping[str, float]:
        batches = evaluation_batches(
            lambda planned: task.make_batch(
                corpus.validation, planned, corpus.specials
            ),
            plan,
        )
        sharded = (shard_batch(batch, mesh) for batch in batches)
        return mean_metrics(params, sharded, step_fn)

    validate = task.make_validation(
        ValidationParts(
            model=parts.model,
            tokenizers=(corpus.tokenizer,) * task.num_sentences,
            lines=directory.read_split("validation", task.sides),
            languages=languages(config, task),
            mean_metrics=means,
            search=translator_settings(
                config, parts.model, beam_size=config.evaluation.beam_size
            ),
            placement=batch_sharding(mesh),
        )
    )
    return validate


def _state_shardings(
    abstract_state: Any,
    of_params: Any,
    optimizer: optax.GradientTransformation,
    mesh: jax.sharding.Mesh,
) -> TrainState:
    """Return where each array of a state lies: moments and averages as parameters."""
    whole = replicated(mesh)
    return abstract_state.replace(
        step=whole,
        params=of_params,
        opt_state=optax.tree_map_params(
            optimizer,
            lambda _, sharding: sharding,
            abstract_state.opt_state,
            of_params,
            transform_non_params=lambda _: whole,
        ),
        ema_params=None if abstract_state.ema_params is None else of_params,
        num_skipped=whole,
    )


def _explain_memory(
    error: jax.errors.JaxRuntimeError,
    config: ml_collections.ConfigDict,
    num_devices: int,
) -> Exception:
    """Say what to do about too little memory; return any other error as it is."""
    if "RESOURCE_EXHAUSTED" not in str(error):
        return error
    num_parts = num_devices * config.training.num_micro_batches
    return UserError(
        "A device has too little memory for "
        f"{config.data.tokens_per_batch // num_parts} source and as many target tokens "
        "at a time (config.data.tokens_per_batch="
        f"{config.data.tokens_per_batch} over {num_devices} devices and "
        f"{config.training.num_micro_batches} micro-batches). A larger "
        "config.training.num_micro_batches needs less and gives the same result."
    )
