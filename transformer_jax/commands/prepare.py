"""Prepare a data set of TensorFlow Datasets, once, so that runs can train on it.

python -m transformer_jax prepare --config configs/wmt14_ende_base.py

It is written below TFDS_DATA_DIR, or the config's directory for it. Archives that lie
in downloads/manual there, or in --manual_directory, are used instead of the network.
"""

import functools
from collections.abc import Callable
from typing import Any

import ml_collections

from transformer_jax.commands.config_flags import parse_config
from transformer_jax.commands.messages import command
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.data.sources.tfds_directory import check_languages, text_column
from transformer_jax.data.sources.tfds_labels import TfdsLabelSettings, check_columns
from transformer_jax.data.sources.tfds_preparation import prepare
from transformer_jax.errors import UserError
from transformer_jax.fields import from_mapping
from transformer_jax.runs.components import build_task
from transformer_jax.runs.rim import naming


def main() -> None:
    """Parse the options, prepare the data set and say how many pairs it has."""
    parser = CommandParser(
        prog=f"{PROGRAM} prepare",
        usage="%(prog)s --config FILE [--config.FIELD=VALUE ...] [options]",
        description=__doc__,
        takes_fields=True,
    )
    parser.add_argument(
        "--manual_directory",
        default="",
        metavar="DIR",
        help="where archives lie that were fetched by hand",
    )
    with command("prepare"):
        config, options = parse_config(parser)
        with naming("config.data"):
            section, check = _wanted(config)
            data_set = prepare(
                section.name, section.directory, check, options.manual_directory
            )
        for split, number in data_set.splits.items():
            print(f"{data_set.name} {split}: {number} examples")


def _wanted(
    config: ml_collections.ConfigDict,
) -> tuple[ml_collections.ConfigDict, Callable[[Any], object]]:
    """Return the section that names the data set, and what its examples must have."""
    data = config.data
    if data.source == "tfds" and build_task(config).num_sentences == 1:
        language = data.source_language
        return data.tfds, functools.partial(text_column, language=language)
    if data.source == "tfds":
        return data.tfds, functools.partial(
            check_languages, source=data.source_language, target=data.target_language
        )
    if data.source == "tfds_labels":
        settings = from_mapping(TfdsLabelSettings, data.tfds_labels)
        return data.tfds_labels, functools.partial(check_columns, settings)
    raise UserError(
        f"source={data.source!r} needs no preparation: only data sets of TensorFlow "
        'Datasets ("tfds" and "tfds_labels") do. Train on it at once.'
    )
