"""The text of a run: opened as its config says, and kept where it is scored on."""

import logging
import pathlib

import ml_collections

from transformer_jax.data.sources import SOURCES
from transformer_jax.data.text_source import OpenRequest, TextSource
from transformer_jax.fields import from_mapping
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.rim import naming

_LOGGER = logging.getLogger(__name__)


def open_text(
    config: ml_collections.ConfigDict,
    languages: tuple[str, ...],
    index_directory: pathlib.Path,
) -> dict[str, TextSource]:
    """Open each split of the source that the config names.

    Args:
      config: of the run.
      languages: one for each side that is asked for.
      index_directory: where the source may keep what makes its text quick to reach.

    Raises:
      UserError: if the source cannot be opened.
    """
    data = config.data
    source = SOURCES[data.source]
    # A source's fields are a section of its name; those of text files need none.
    fields = data.get(data.source, data)
    request = OpenRequest(
        languages=languages,
        seed=config.seed,
        index_directory=index_directory,
    )
    with naming("config.data"):
        return source.open_splits(from_mapping(source.settings, fields), request)


def keep_text(
    directory: RunDirectory, sources: dict[str, TextSource], sides: tuple[str, ...]
) -> None:
    """Copy into the run what it is scored on: every split but training's."""
    for split, source in sources.items():
        if split != "train":
            directory.write_split(split, source.all_texts(), sides)
