"""From a config to the parts that it names: model, optimizer, schedule, translator.

Here and in its neighbours a `ConfigDict` ends: everything below takes plain numbers,
dataclasses and functions.
"""

from typing import Any

import jax
import ml_collections
import optax

from transformer_jax.data.tokenizer import Tokenizer
from transformer_jax.decoding.translator import Translator, TranslatorSettings
from transformer_jax.errors import UserError
from transformer_jax.models import MODELS
from transformer_jax.models.transformer import Transformer
from transformer_jax.training.loop import LoopSettings
from transformer_jax.training.optimizer import (
    Schedule,
    ScheduleSettings,
    make_optimizer,
    make_schedule,
)


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
    return model_class(
        config_class(
            source_vocab_size=source.vocab_size,
            target_vocab_size=target.vocab_size,
            **fields,
        )
    )


def count_params(params: Any) -> int:
    """Return the number of parameters in a tree of arrays or of their shapes."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))


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


def loop_settings(config: ml_collections.ConfigDict) -> LoopSettings:
    """Return when to log, evaluate and save; 0 in the config means never."""
    return LoopSettings(
        num_steps=config.training.num_steps,
        log_every_steps=config.training.log_every_steps or None,
        eval_every_steps=config.evaluation.every_steps or None,
        save_every_steps=config.checkpoints.every_steps or None,
        save_every_seconds=60 * config.checkpoints.every_minutes or None,
        patience=config.training.patience or None,
        max_skips=config.training.max_skipped_updates,
    )
