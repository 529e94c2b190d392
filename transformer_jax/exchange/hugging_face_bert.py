"""BERT's weights and sizes as Hugging Face's transformers writes them to disk."""

import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict

from transformer_jax.errors import UserError
from transformer_jax.files import as_path, read_json, write_atomically
from transformer_jax.models.bert import PRETRAINING_INPUTS, Bert
from transformer_jax.models.bert_config import BertConfig
from transformer_jax.models.parameters import param_shapes

_CONFIG, _WEIGHTS = "config.json", "model.safetensors"
VOCABULARY = "vocab.txt"
_ENCODER = "bert."

# A field of `BertConfig` → its name in config.json.
_FIELDS = {
    "vocab_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "d_model": "hidden_size",
    "d_ff": "intermediate_size",
    "num_heads": "num_attention_heads",
    "dropout_rate": "hidden_dropout_prob",
    "attention_dropout_rate": "attention_probs_dropout_prob",
    "norm_epsilon": "layer_norm_eps",
    "max_positions": "max_position_embeddings",
    "num_token_types": "type_vocab_size",
    "init_stddev": "initializer_range",
}
# Their name of an activation → ours.
_ACTIVATIONS = {"gelu": "gelu", "relu": "relu", "silu": "swish", "swish": "swish"}

# A module of ours → theirs; {} is the number of a layer.
_MODULES = {
    "token_embedding": "bert.embeddings.word_embeddings",
    "position_embedding": "bert.embeddings.position_embeddings",
    "type_embedding": "bert.embeddings.token_type_embeddings",
    "embedding_norm": "bert.embeddings.LayerNorm",
    "pooler": "bert.pooler.dense",
    "token_prediction": "cls.predictions",
    "token_prediction/transform": "cls.predictions.transform.dense",
    "token_prediction/norm": "cls.predictions.transform.LayerNorm",
    "next_sentence": "cls.seq_relationship",
}
_LAYER_MODULES = {
    "self_attention/query": "attention.self.query",
    "self_attention/key": "attention.self.key",
    "self_attention/value": "attention.self.value",
    "self_attention/output": "attention.output.dense",
    "self_attention_residual/norm": "attention.output.LayerNorm",
    "feed_forward/expand": "intermediate.dense",
    "feed_forward/contract": "output.dense",
    "feed_forward_residual/norm": "output.LayerNorm",
}
# The last part of a parameter's name → theirs.
_LEAVES = {
    "kernel": "weight",
    "embedding": "weight",
    "scale": "weight",
    "bias": "bias",
}
# Older files call the parts of a norm so.
_OLDER = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
# What files hold beside parameters, or twice: the head shares the table of tokens.
_NOT_NEEDED = {
    "bert.embeddings.position_ids",
    "cls.predictions.decoder.weight",
    "cls.predictions.decoder.bias",
}


def params_from_tensors(
    tensors: Mapping[str, np.ndarray], config: BertConfig
) -> dict[str, Any]:
    """Return parameters of `Bert` from the tensors of a file.

    Args:
      tensors: by their names in BertModel or BertForPreTraining; the heads, and the
        pooler, may be missing.
      config: their sizes.

    Returns:
      A tree like that of `Bert`, without what the file does not have.

    Raises:
      UserError: if part of the encoder is missing, a shape differs, or there is more.
    """
    found = {_full_name(name): value for name, value in tensors.items()}
    params = {}
    for path, name, shape in _parameters(config):
        if name not in found:
            if name.startswith(_ENCODER) and "pooler" not in name:
                raise UserError(
                    f"the weights lack {name}: expected those of a BERT encoder with "
                    f"{config.num_layers} layers."
                )
            continue
        values = np.asarray(found.pop(name), np.float32)
        if path[-1] == "kernel":
            values = values.T
        rows = _num_padding_rows(path, config)
        values = np.pad(values, [(0, rows), *[(0, 0)] * (values.ndim - 1)])
        if values.size != np.prod(shape):
            raise UserError(
                f"{name} has {values.size} values, where config.json's sizes make "
                f"{np.prod(shape)}: the two are not of the same model."
            )
        params[path] = values.reshape(shape)
    if more := sorted(found.keys() - _NOT_NEEDED):
        raise UserError(
            f"the weights hold {', '.join(more[:3])}, which BERT does not have. Take "
            "the file of a BertModel or of a BertForPreTraining."
        )
    return unflatten_dict(params)


def tensors_from_params(params: Any, config: BertConfig) -> dict[str, np.ndarray]:
    """Return the tensors of a BertForPreTraining from parameters of `Bert`."""
    flat = flatten_dict(params)
    tensors = {}
    for path, name, _ in _parameters(config):
        values = np.asarray(flat[path])
        if path[-1] == "kernel":
            num_out = _num_out_axes(path)
            fan_out = int(np.prod(values.shape[values.ndim - num_out :]))
            values = values.reshape(-1, fan_out).T
        elif path[-1] == "bias":
            values = values.reshape(-1)
        rows = len(values) - _num_padding_rows(path, config)
        tensors[name] = np.ascontiguousarray(values[:rows])
    return tensors


def _parameters(
    config: BertConfig,
) -> Iterator[tuple[tuple[str, ...], str, tuple[int, ...]]]:
    """Yield each parameter's path, its name in a file, and its shape."""
    modules = dict(_MODULES)
    for number in range(config.num_layers):
        for ours, theirs in _LAYER_MODULES.items():
            module = f"encoder/layer_{number}/{ours}"
            modules[module] = f"bert.encoder.layer.{number}.{theirs}"
    shapes = flatten_dict(param_shapes(Bert(config), PRETRAINING_INPUTS))
    for path, leaf in shapes.items():
        name = f"{modules['/'.join(path[:-1])]}.{_LEAVES[path[-1]]}"
        yield path, name, leaf.shape


def _num_out_axes(path: tuple[str, ...]) -> int:
    """Return how many axes of a kernel come out: heads and depth, or one."""
    return 2 if path[-2] in ("query", "key", "value") else 1


def _num_padding_rows(path: tuple[str, ...], config: BertConfig) -> int:
    """Return how many rows of a parameter stand for no piece."""
    of_pieces = ("token_embedding", "embedding"), ("token_prediction", "bias")
    return config.vocab_width - config.vocab_size if path in of_pieces else 0


def _full_name(name: str) -> str:
    """Return a tensor's name in a BertForPreTraining of today."""
    for older, newer in _OLDER.items():
        name = name.replace(older, newer)
    return name if name.startswith((_ENCODER, "cls.")) else _ENCODER + name


def is_directory(path: str | os.PathLike[str]) -> bool:
    """Tell whether transformers wrote a model there: a run's config names no type."""
    found = read_json(as_path(path) / _CONFIG)
    return isinstance(found, dict) and "model_type" in found


def read_directory(
    directory: str | os.PathLike[str], **changes: Any
) -> tuple[BertConfig, dict[str, Any]]:
    """Return the sizes and parameters that transformers' `save_pretrained` wrote.

    Args:
      directory: holds config.json and model.safetensors.
      changes: fields of `BertConfig` that are to differ from the file's.

    Raises:
      UserError: if it holds no BERT, or safetensors is not installed.
    """
    directory = as_path(directory)
    config = config_from_fields(_read_fields(directory / _CONFIG), **changes)
    try:
        tensors = _safetensors().load_file(directory / _WEIGHTS)
    except FileNotFoundError as error:
        raise UserError(
            f"{directory} has no {_WEIGHTS}. Let transformers write it: "
            "save_pretrained(DIR, safe_serialization=True)."
        ) from error
    except Exception as error:  # The package's own kind, and OSError.
        raise UserError(f"Cannot read {directory / _WEIGHTS}: {error}.") from error
    try:
        return config, params_from_tensors(tensors, config)
    except UserError as error:
        raise UserError(f"{directory}: {error}") from error


def write_directory(
    directory: str | os.PathLike[str], params: Any, config: BertConfig
) -> None:
    """Write what transformers' BertForPreTraining.from_pretrained reads.

    Raises:
      UserError: if safetensors is not installed.
    """
    save = _safetensors().save
    directory = as_path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    content = save(tensors_from_params(params, config), {"format": "pt"})
    with write_atomically(directory / _WEIGHTS) as file:
        file.write(content)
    with write_atomically(directory / _CONFIG) as file:
        file.write(json.dumps(fields_from_config(config), indent=2).encode())


def config_from_fields(fields: Mapping[str, Any], **changes: Any) -> BertConfig:
    """Return the sizes that a config.json states, with `changes`.

    Raises:
      UserError: if it is not that of a BERT, or of one with parts that ours lacks.
    """
    kind = fields.get("model_type")
    if kind != "bert":
        raise UserError(f"{_CONFIG} is of a model_type {kind!r}; expected 'bert'.")
    if missing := [name for name in _FIELDS.values() if name not in fields]:
        raise UserError(f"{_CONFIG} lacks {', '.join(missing)}.")
    positions = fields.get("position_embedding_type", "absolute")
    activation = fields.get("hidden_act", "gelu")
    if positions != "absolute" or activation not in _ACTIVATIONS:
        raise UserError(
            f"{_CONFIG} has position_embedding_type={positions!r} and hidden_act="
            f"{activation!r}; known are 'absolute', and {', '.join(_ACTIVATIONS)}."
        )
    sizes = {ours: fields[theirs] for ours, theirs in _FIELDS.items()}
    return BertConfig(**sizes | {"activation": _ACTIVATIONS[activation]} | changes)


def fields_from_config(config: BertConfig) -> dict[str, Any]:
    """Return the config.json of these sizes."""
    activations = {ours: theirs for theirs, ours in reversed(_ACTIVATIONS.items())}
    return {
        "model_type": "bert",
        "architectures": ["BertForPreTraining"],
        "hidden_act": activations[config.activation],
    } | {theirs: getattr(config, ours) for ours, theirs in _FIELDS.items()}


def _read_fields(path: pathlib.Path) -> dict[str, Any]:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"Cannot read {path}: {error}. Name a directory that transformers' "
            "save_pretrained wrote."
        ) from error
    if not isinstance(fields, dict):
        raise UserError(f"{path} holds no fields. Name a model's directory.")
    return fields


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise UserError(
            "Weights of Hugging Face's transformers need the package safetensors. "
            "Install it: pip install 'transformer-jax[huggingface]'."
        ) from error
    return safetensors.numpy
