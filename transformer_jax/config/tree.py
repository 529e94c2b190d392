"""The tree of a config's fields: made of the sections, and walked field by field."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ml_collections
from ml_collections.config_dict import placeholder

from transformer_jax.config import sections
from transformer_jax.data.sources import SOURCES
from transformer_jax.fields import Field, declared
from transformer_jax.models import MODELS
from transformer_jax.tasks import TASKS

# The one source whose fields stand in `config.data` itself; those of the others are a
# section of their name.
_SOURCE_WITHOUT_SECTION = "files"


def source_section(source: str) -> str:
    """Return the path of the section that holds a source's fields."""
    return "data" if source == _SOURCE_WITHOUT_SECTION else f"data.{source}"


def dataclasses_of(model: str, task: str) -> dict[str, tuple[type, ...]]:
    """Return the dataclasses whose fields each section of a config has, by its path.

    Args:
      model: a name in `MODELS`, whose fields `config.model` has.
      task: a name in `TASKS`, whose fields `config.task` has.
    """
    of_sources = {
        source_section(name): (source.settings,)
        for name, source in SOURCES.items()
        if name != _SOURCE_WITHOUT_SECTION
    }
    return {
        "": (sections.RunSection,),
        "data": (sections.DataSection, SOURCES[_SOURCE_WITHOUT_SECTION].settings),
        **of_sources,
        "model": (sections.ModelSection, MODELS[model].config),
        "task": (sections.TaskSection, TASKS[task].settings),
        "optimizer": (sections.OptimizerSection,),
        "training": (sections.TrainingSection,),
        "decoding": (sections.DecodingSection,),
        "evaluation": (sections.EvaluationSection,),
        "checkpoints": (sections.CheckpointsSection,),
        "sharding": (sections.ShardingSection,),
    }


def fields_of(model: str, task: str) -> dict[str, Field]:
    """Return every field of a config by its dotted path, such as "optimizer.beta1"."""
    return {
        f"{path}.{name}" if path else name: field
        for path, parts in dataclasses_of(model, task).items()
        for part in parts
        for name, field in declared(part).items()
    }


def make_tree(fields: Mapping[str, Field]) -> ml_collections.ConfigDict:
    """Return a config of these fields, each with its default."""
    tree = ml_collections.ConfigDict()
    for path, field in fields.items():
        *parents, name = path.split(".")
        section = tree
        for parent in parents:
            if parent not in section:
                section[parent] = ml_collections.ConfigDict()
            section = section[parent]
        is_optional = field.default is None
        section[name] = placeholder(field.type) if is_optional else field.default
    return tree


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every field of a tree as (dotted path, value)."""
    for name, value in tree.items():
        if isinstance(value, Mapping | ml_collections.ConfigDict):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def all_paths(model: str | None = None) -> Iterable[str]:
    """Return the path of every field that some config, or one of a model, can have."""
    models = MODELS if model is None else [model]
    return dict.fromkeys(
        path for name in models for task in TASKS for path in fields_of(name, task)
    )


def models_with(path: str) -> list[str]:
    """Return the models whose configs have a field."""
    return [
        model
        for model in MODELS
        if any(path in fields_of(model, task) for task in TASKS)
    ]
