"""Values of a config that cannot work, alone or together, found before any work."""

import logging

import ml_collections

from transformer_jax.config.sections import (
    PAPER_TOKENS_PER_BATCH,
    PAPER_WARMUP_STEPS,
    ModelSection,
    TaskSection,
)
from transformer_jax.config.tree import fields_of, leaves
from transformer_jax.config.versions import CONFIG_VERSION
from transformer_jax.errors import UserError
from transformer_jax.fields import declared

_PAPER_NUM_LAYERS = 6
# Stacks of so many layers, with norms behind the sub-layers, often diverge.
_DEEP = 2 * _PAPER_NUM_LAYERS

_LOGGER = logging.getLogger(__name__)


def check_config(config: ml_collections.ConfigDict) -> None:
    """Refuse what is sure to fail, and warn of what is sure to disappoint.

    Raises:
      UserError: names the fields, what they may be, and what to do.
    """
    _check_fields(config)
    _warn_of_batch_size(config)
    _warn_of_length(config)
    _warn_of_depth(config)
    _warn_of_lateness(config)


def _check_fields(config: ml_collections.ConfigDict) -> None:
    """Check that the fields are those of the chosen model, and each by itself."""
    values = dict(leaves(config))
    if (version := values.pop("version", None)) != CONFIG_VERSION:
        raise UserError(
            f"config.version={version!r}: expected {CONFIG_VERSION}, the layout of "
            "this program's configs. Leave it as default.get_config() gives it."
        )
    model, task = values.get("model.name", ""), values.get("task.name", "")
    declared(ModelSection)["name"].check(model, "config.model.name")
    declared(TaskSection)["name"].check(task, "config.task.name")
    fields = fields_of(model, task)
    if missing := sorted(fields.keys() ^ values.keys()):
        raise UserError(
            f"The config does not have the fields of the model {model!r} and the task "
            f"{task!r}, but differs in config.{', config.'.join(missing)}. Others have "
            "other fields: make the config by "
            f"default.get_config(model={model!r}, task={task!r})."
        )
    for path, field in fields.items():
        field.check(values[path], f"config.{path}")


def _warn_of_batch_size(config: ml_collections.ConfigDict) -> None:
    """Warn of the paper's schedule on batches far from the paper's.

    A smaller batch has a noisier gradient and needs smaller steps. Not a word where the
    peak, which goes with factor * warmup_steps^-0.5, was already moved the right way.
    """
    optimizer, num_tokens = config.optimizer, config.data.tokens_per_batch
    size = num_tokens / PAPER_TOKENS_PER_BATCH
    if optimizer.schedule != "paper" or 0.5 <= size <= 2:
        return
    stretch = (PAPER_WARMUP_STEPS / max(optimizer.warmup_steps, 1)) ** 0.5
    peak = optimizer.factor * stretch
    if peak < 1 if size < 1 else peak > 1:
        return
    change, warmup = ("lower", "longer") if size < 1 else ("higher", "shorter")
    _LOGGER.warning(
        "The paper's schedule was made for %d tokens an update (Section 5.1), and "
        "config.data.tokens_per_batch=%d. Use a %s "
        "config.optimizer.factor, a %s config.optimizer.warmup_steps (%d "
        "updates see as many tokens as the paper's %d), or another "
        "config.optimizer.schedule.",
        PAPER_TOKENS_PER_BATCH,
        num_tokens,
        change,
        warmup,
        round(PAPER_WARMUP_STEPS / size),
        PAPER_WARMUP_STEPS,
    )


def _warn_of_length(config: ml_collections.ConfigDict) -> None:
    """Warn of a training that ends before its schedule does, or long after."""
    optimizer, num_steps = config.optimizer, config.training.num_steps
    if optimizer.warmup_steps >= num_steps:
        _LOGGER.warning(
            "config.optimizer.warmup_steps=%d is not below config.training.num_steps="
            "%d: the learning rate rises to the end. Warm up for fewer steps.",
            optimizer.warmup_steps,
            num_steps,
        )
    if optimizer.schedule not in ("cosine", "linear"):
        return
    last = optimizer.factor * optimizer.peak_learning_rate * optimizer.final_fraction
    if num_steps != optimizer.num_steps:
        _LOGGER.warning(
            "The %s schedule ends at config.optimizer.num_steps=%d, training at "
            "config.training.num_steps=%d: %s. Give both the same number in a new run.",
            optimizer.schedule,
            optimizer.num_steps,
            num_steps,
            f"the steps from there on keep its last learning rate, {last:g}"
            if num_steps > optimizer.num_steps
            else "its lowest learning rates are never reached",
        )


def _warn_of_depth(config: ml_collections.ConfigDict) -> None:
    """Warn of deep post-norm stacks whose warm-up is not longer than for six layers."""
    model, warmup_steps = config.model, config.optimizer.warmup_steps
    if "norm_position" not in model or model.norm_position != "post":
        return
    num_layers = max(model.num_encoder_layers, model.num_decoder_layers)
    needed = round(PAPER_WARMUP_STEPS * num_layers / _PAPER_NUM_LAYERS)
    if num_layers >= _DEEP and warmup_steps < needed:
        _LOGGER.warning(
            "%d layers with config.model.norm_position=post often do not learn with a "
            "warm-up as short as config.optimizer.warmup_steps=%d. Warm up for %d "
            "steps or more, or use norm_position=pre.",
            num_layers,
            warmup_steps,
            needed,
        )


def _warn_of_lateness(config: ml_collections.ConfigDict) -> None:
    """Warn of validations and saves that are due after training has ended."""
    num_steps, checkpoints = config.training.num_steps, config.checkpoints
    end = f"training ends at config.training.num_steps={num_steps}"
    if (due := config.evaluation.eval_every_steps) > num_steps:
        _LOGGER.warning(
            "config.evaluation.eval_every_steps=%d, but %s: only its last step is "
            "validated. Validate more often, to see how it goes and keep the best.",
            due,
            end,
        )
    if (due := checkpoints.save_every_steps) > num_steps and not (
        checkpoints.save_every_minutes
    ):
        _LOGGER.warning(
            "config.checkpoints.save_every_steps=%d, but %s, and save_every_minutes=0: "
            "only its last step is saved. Save more often, so that a run that is "
            "killed can be resumed.",
            due,
            end,
        )
