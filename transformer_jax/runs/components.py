"""From a config to the parts that it names: model, task, optimizer, schedule, search.

Here and in its neighbours a `ConfigDict` ends: everything below takes plain numbers,
dataclasses and functions.
"""

import dataclasses
from typing import Any

import jax
import ml_collections
import optax

from transformer_jax.config.sections import DecodingSection
from transformer_jax.data.tokenizer_file import AnyTokenizer
from transformer_jax.decoding.classifier import Classifier, ClassifierSettings
from transformer_jax.decoding.translator import Translator
from transformer_jax.decoding.translator_settings import (
    TranslatorSettings,
    check_beam,
)
from transformer_jax.errors import UserError
from transformer_jax.fields import declared, from_mapping
from transformer_jax.models import MODELS
from transformer_jax.models.interface import TranslationModel
from transformer_jax.runs.rim import naming
from transformer_jax.sharding.mesh import (
    batch_sharding,
    choose_devices,
    make_mesh,
    replicated,
)
from transformer_jax.tasks import TASKS
from transformer_jax.tasks.task import Task
from transformer_jax.training.loop import LoopSettings
from transformer_jax.training.optimizer import (
    Schedule,
    ScheduleSettings,
    make_optimizer,
    make_schedule,
)


@dataclasses.dataclass(frozen=True)
class Parts:
    """A model, and what it is for.

    Attributes:
      model: its module.
      task: what it is trained for.
    """

    model: Any
    task: Task


def check_parts(config: ml_collections.ConfigDict, vocab_size: int) -> None:
    """Build what needs no text, so that what cannot be built is refused at once.

    Args:
      config: of a run.
      vocab_size: that it has, or will have.

    Raises:
      UserError: names the section and its fields.
    """
    task = build_task(config)
    _check_model(config, task)
    model = build_model(config, vocab_size, vocab_size)
    _check_longest(config, model, task)
    _check_rows(config, task)
    build_schedule(config, model)
    translator_settings(config, model)
    for section in ("decoding", "evaluation"):
        try:
            check_beam(config[section].beam_size, vocab_size)
        except ValueError as error:
            raise UserError(f"config.{section}.{error}") from error
    with naming("config.data"):
        task.check_languages(languages(config, task))


def build_parts(config: ml_collections.ConfigDict, vocab_size: int) -> Parts:
    """Return the model and the task that the config names, for a vocabulary."""
    return Parts(build_model(config, vocab_size, vocab_size), build_task(config))


def build_task(config: ml_collections.ConfigDict) -> Task:
    """Return the task that `config.task` describes."""
    kind = TASKS[config.task.name]
    with naming("config.task"):
        return kind.make(from_mapping(kind.settings, config.task))


def languages(config: ml_collections.ConfigDict, task: Task) -> tuple[str, ...]:
    """Return a language for each sentence of the task's texts."""
    if task.labels is not None:
        return (config.data.source_language,) * task.num_sentences
    data = config.data
    return (data.source_language, data.target_language)[: task.num_sentences]


def build_model(
    config: ml_collections.ConfigDict, source_vocab_size: int, target_vocab_size: int
) -> TranslationModel:
    """Return the model that `config.model` describes, for these vocabularies.

    Raises:
      UserError: if its sizes do not fit together.
    """
    kind = MODELS[config.model.name]
    sizes = {
        "vocab_size": source_vocab_size,
        "source_vocab_size": source_vocab_size,
        "target_vocab_size": target_vocab_size,
    }
    labels = build_task(config).labels
    if labels is not None:
        sizes["num_classes"] = labels.vocab_size
    own = {field.name for field in dataclasses.fields(kind.config)}
    with naming("config.model"):
        return kind.module(
            from_mapping(
                kind.config,
                config.model,
                **{name: size for name, size in sizes.items() if name in own},
            )
        )


def build_schedule(
    config: ml_collections.ConfigDict, model: TranslationModel
) -> Schedule:
    """Return the learning rate after so many updates (Section 5.3)."""
    optimizer = config.optimizer
    with naming("config.optimizer"):
        return make_schedule(
            ScheduleSettings(
                schedule=optimizer.schedule,
                d_model=model.config.d_model,
                warmup_steps=optimizer.warmup_steps,
                num_steps=optimizer.num_steps,
                peak_learning_rate=optimizer.peak_learning_rate,
                final_fraction=optimizer.final_fraction,
                factor=optimizer.factor,
            )
        )


def build_optimizer(config: ml_collections.ConfigDict) -> optax.GradientTransformation:
    """Return what `config.optimizer` describes, without the learning rate."""
    optimizer = config.optimizer
    return make_optimizer(
        beta1=optimizer.beta1,
        beta2=optimizer.beta2,
        epsilon=optimizer.epsilon,
        clip_norm=optimizer.clip_norm,
        weight_decay=optimizer.weight_decay,
    )


def translator_settings(
    config: ml_collections.ConfigDict, model: TranslationModel, **changes: Any
) -> TranslatorSettings:
    """Return how to translate, as `config.decoding` says, with `changes`.

    Raises:
      UserError: if the settings do not fit together.
    """
    fields = declared(DecodingSection)
    fields["num_best"] = fields["beam_size"]
    for name, value in changes.items():
        if name in fields:
            fields[name].check(value, name)
    settings = {
        "beam_size": config.decoding.beam_size,
        "alpha": config.decoding.alpha,
        "length_penalty": config.decoding.length_penalty,
        "max_extra_length": config.decoding.max_extra_length,
        "min_length": config.decoding.min_length,
        "tokens_per_batch": config.decoding.tokens_per_batch,
        "max_source_length": config.data.max_length,
        "max_output_length": model.config.longest_length,
    }
    try:
        return TranslatorSettings(**settings | changes)
    except ValueError as error:
        raise UserError(str(error)) from error


def build_translator(
    config: ml_collections.ConfigDict,
    model: TranslationModel,
    params: Any,
    tokenizers: tuple[AnyTokenizer, ...],
    **changes: Any,
) -> Translator:
    """Return a translator as the config says, with `changes` to its settings.

    It uses as many devices as training did, or all there are if those are fewer.

    Raises:
      UserError: if the settings do not fit together.
    """
    settings = translator_settings(config, model, **changes)
    params, placement = _placed(config, params)
    source, target = tokenizers[0], tokenizers[-1]
    try:
        return Translator(model, params, source, target, settings, placement)
    except ValueError as error:
        raise UserError(str(error)) from error


def build_classifier(
    config: ml_collections.ConfigDict,
    parts: Parts,
    params: Any,
    tokenizer: AnyTokenizer,
) -> Classifier:
    """Return a classifier as the config says, on as many devices as a translator."""
    task = parts.task
    if task.labels is None or task.row_length is None:
        raise ValueError(f"the task {config.task.name} has no labels")
    settings = ClassifierSettings(task.row_length, config.decoding.tokens_per_batch)
    params, placement = _placed(config, params)
    return Classifier(parts.model, params, tokenizer, task.labels, settings, placement)


def _placed(
    config: ml_collections.ConfigDict, params: Any
) -> tuple[Any, jax.sharding.NamedSharding]:
    """Put parameters on as many devices as trained them; say how rows are split."""
    mesh = make_mesh(jax.devices()[: config.sharding.data or None])
    return jax.device_put(params, replicated(mesh)), batch_sharding(mesh)


def build_mesh(config: ml_collections.ConfigDict) -> jax.sharding.Mesh:
    """Return the devices that `config.sharding` chooses, lined up.

    Raises:
      UserError: if there are fewer.
    """
    with naming("config.sharding"):
        return make_mesh(choose_devices(config.sharding.data))


def loop_settings(config: ml_collections.ConfigDict, score_name: str) -> LoopSettings:
    """Return when to log, evaluate and save."""
    return LoopSettings(
        num_steps=config.training.num_steps,
        score_name=score_name,
        log_every_steps=config.training.log_every_steps,
        eval_every_steps=config.evaluation.eval_every_steps,
        save_every_steps=config.checkpoints.save_every_steps,
        save_every_minutes=config.checkpoints.save_every_minutes,
        patience=config.training.patience,
        max_skips=config.training.max_skips,
    )


def _check_model(config: ml_collections.ConfigDict, task: Task) -> None:
    """Make sure that the model can learn the task."""
    able = [name for name, kind in MODELS.items() if task.inputs in kind.inputs]
    if config.model.name not in able:
        raise UserError(
            f"config.model.name={config.model.name} does not learn config.task.name="
            f"{config.task.name}. Models that do: {', '.join(able)}."
        )


def _check_longest(
    config: ml_collections.ConfigDict, model: TranslationModel, task: Task
) -> None:
    """Make sure that the model has room for the longest sentences."""
    longest = model.config.longest_length
    if task.row_length is not None:
        if longest is not None and longest < task.row_length - 1:
            raise UserError(
                f"config.task.row_length={task.row_length}, but the model that "
                f"config.model describes has room for {longest + 1} pieces. Raise "
                "config.model.max_positions or lower the other."
            )
        return
    if longest is not None and longest < config.data.max_length:
        raise UserError(
            f"config.data.max_length={config.data.max_length}, but the model that "
            f"config.model describes has room for {longest} pieces: the ends of long "
            "sentences would have no position. Raise the one or lower the other."
        )


def _check_rows(config: ml_collections.ConfigDict, task: Task) -> None:
    """Make sure that devices and micro-batches can share the rows of every batch."""
    if task.row_length is not None and config.data.batching == "packed":
        raise UserError(
            "config.data.batching=packed puts several texts into a row, where the task "
            "of config.task lays a row out by itself. Use buckets."
        )
    num_devices = build_mesh(config).size
    num_parts = num_devices * config.training.num_micro_batches
    if config.data.row_multiple % num_parts:
        raise UserError(
            f"config.data.row_multiple={config.data.row_multiple} cannot be split over "
            f"{num_devices} devices (config.sharding.data) times "
            f"{config.training.num_micro_batches} config.training.num_micro_batches. "
            f"Use a multiple of {num_parts}, or fewer devices or parts."
        )
