"""The parameters that a run starts from: new ones, or those of what came before."""

import logging
from typing import Any

import jax
import ml_collections
from flax.traverse_util import flatten_dict, unflatten_dict

from transformer_jax.data.tokenizer_file import read_tokenizer
from transformer_jax.errors import UserError
from transformer_jax.exchange.hugging_face_bert import is_directory, read_directory
from transformer_jax.models.bert import Bert
from transformer_jax.models.bert_as_encoder import encoder_params
from transformer_jax.models.bert_config import BertConfig
from transformer_jax.models.parameters import init_params, param_shapes
from transformer_jax.runs.components import Parts, build_parts
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.rim import naming
from transformer_jax.runs.trained_run import read_params

_LOGGER = logging.getLogger(__name__)


def initial_params(config: ml_collections.ConfigDict, parts: Parts, rng: Any) -> Any:
    """Return new parameters, or those of the run or directory to start from.

    What that does not have, as the layer that a task adds, is new.

    Raises:
      UserError: if nothing, or nothing of the right size, is there to start from.
    """
    start = config.training.init_from
    if start is None:
        return init_params(parts.model, rng, parts.task.inputs)
    given, described = _read(start, config, parts)
    shapes = param_shapes(parts.model, parts.task.inputs)
    taken = _fitting(given, shapes, start)
    new = sorted({path[0] for path in flatten_dict(shapes).keys() - taken.keys()})
    _LOGGER.info(
        "Starting from %s%s", described, f"; new: {', '.join(new)}" if new else ""
    )
    if not new:
        return unflatten_dict(taken)
    made = flatten_dict(init_params(parts.model, rng, parts.task.inputs))
    return unflatten_dict(made | taken)


def check_start(config: ml_collections.ConfigDict, parts: Parts) -> None:
    """Refuse a start that does not fit, before the text is prepared.

    Raises:
      UserError: as `initial_params`.
    """
    start = config.training.init_from
    if start is not None:
        given, _ = _read(start, config, parts)
        _fitting(given, param_shapes(parts.model, parts.task.inputs), start)


def _read(
    start: str, config: ml_collections.ConfigDict, parts: Parts
) -> tuple[Any, str]:
    """Return the parameters of a run or a directory, and what they are of."""
    with naming("config.training.init_from"):
        if is_directory(start):
            bert, params = read_directory(start)
            if not isinstance(parts.model, Bert):
                params = _as_encoder(params, bert, parts, start)
            return params, start
        directory = RunDirectory(start)
        before = directory.read_config()
        parts_before = parts
        if (before.model.name, before.task.name) != (
            config.model.name,
            config.task.name,
        ):
            vocab_size = read_tokenizer(directory.tokenizer_path).vocab_size
            parts_before = build_parts(before, vocab_size)
        params, steps = read_params(directory, parts_before)
        before_model = parts_before.model
        if isinstance(before_model, Bert) and not isinstance(parts.model, Bert):
            params = _as_encoder(params, before_model.config, parts, start)
        return params, f"{start}, step {steps[-1]}"


def _as_encoder(params: Any, bert: BertConfig, parts: Parts, start: str) -> Any:
    """Return a BERT's parameters as those of another model's encoder.

    Raises:
      UserError: if that has not just such an encoder.
    """
    given = encoder_params(params)
    found = flatten_dict(given).keys()
    wanted = flatten_dict(param_shapes(parts.model, parts.task.inputs)).keys()
    of_encoder = {path for path in wanted if path[0] == "encoder"}
    differing = {"/".join(path) for path in (found - wanted) | (of_encoder - found)}
    differing |= {
        name
        for name in ("activation", "norm_epsilon")
        if getattr(parts.model.config, name, None) != getattr(bert, name)
    }
    if differing:
        raise UserError(
            f"{start} holds a BERT, whose encoder differs from this model's in "
            f"{', '.join(sorted(differing)[:3])}. Give it BERT's: config.model.update("
            "default.transformer_like_bert(SIZE))."
        )
    return given


def _fitting(given: Any, shapes: Any, start: str) -> dict[tuple[str, ...], jax.Array]:
    """Return by their paths those of the given parameters that a model has too.

    Raises:
      UserError: if there are none, or one has another shape.
    """
    wanted, found = flatten_dict(shapes), flatten_dict(given)
    taken = {path: array for path, array in found.items() if path in wanted}
    for path, array in taken.items():
        if array.shape != wanted[path].shape:
            raise UserError(
                f"config.training.init_from={start}: its {'/'.join(path)} is "
                f"{array.shape}, that of this run {wanted[path].shape}. Give "
                "config.model the same sizes."
            )
    if not taken:
        raise UserError(
            f"config.training.init_from={start} has nothing that this model has."
        )
    return taken
