"""The text of a run: opened as its config says, and kept where it is scored on."""

import functools
import pathlib
from typing import Any

import ml_collections

from transformer_jax.config.tree import source_section
from transformer_jax.data.sources import SOURCES, Source
from transformer_jax.data.text_source import OpenRequest, TextSource
from transformer_jax.errors import UserError
from transformer_jax.fields import from_mapping
from transformer_jax.runs.components import languages
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.rim import naming
from transformer_jax.tasks.task import Task


def open_text(
    config: ml_collections.ConfigDict,
    task: Task,
    index_directory: pathlib.Path,
) -> dict[str, TextSource]:
    """Open each split of the source that the config names.

    Args:
      config: of the run.
      task: what is asked for of a text.
      index_directory: where the source may keep what makes its text quick to reach.

    Raises:
      UserError: if the source cannot be opened.
    """
    source, settings = _settings(config)
    request = OpenRequest(
        languages=languages(config, task),
        seed=config.seed,
        index_directory=index_directory,
        labels=task.labels,
        has_documents=task.has_documents,
    )
    with naming("config.data"):
        return source.open_splits(settings, request)


def check_source(config: ml_collections.ConfigDict, task: Task) -> None:
    """Refuse a source that is sure not to open; needs no text.

    Raises:
      UserError: names the field.
    """
    source, settings = _settings(config)
    able = [
        name
        for name, other in SOURCES.items()
        if other.has_labels == (task.labels is not None)
        and other.has_documents >= task.has_documents
    ]
    if config.data.source not in able:
        if source.has_labels:
            reason = f"labels, which config.task.name={config.task.name} has no use for"
        elif task.labels is not None:
            reason = f"no labels, which config.task.name={config.task.name} needs"
        else:
            reason = "no documents, which config.task.next_sentence needs"
        raise UserError(
            f"config.data.source={config.data.source} has {reason}. Sources that fit: "
            f"{', '.join(able)}."
        )
    with naming("config.data"):
        source.check(settings, languages(config, task))


def _settings(config: ml_collections.ConfigDict) -> tuple[Source, Any]:
    """Return the source that a config names, and its own settings."""
    name = config.data.source
    fields = functools.reduce(getattr, source_section(name).split("."), config)
    return SOURCES[name], from_mapping(SOURCES[name].settings, fields)


def keep_text(
    directory: RunDirectory, sources: dict[str, TextSource], sides: tuple[str, ...]
) -> None:
    """Copy into the run what it is scored on: every split but training's."""
    for split, source in sources.items():
        if split != "train":
            directory.write_split(split, source.all_texts(), sides)
