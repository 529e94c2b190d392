"""Prepare a data set of TensorFlow Datasets, once, so that runs can train on it.

python -m transformer_jax prepare --config configs/wmt14_ende_base.py

It is written below TFDS_DATA_DIR, or --config.data.tfds.directory. Archives that lie in
downloads/manual there, or in --manual_directory, are used instead of the network.
"""

from transformer_jax.commands.config_flags import parse_config
from transformer_jax.commands.messages import command
from transformer_jax.commands.parser import PROGRAM, CommandParser
from transformer_jax.data.sources.tfds_preparation import prepare
from transformer_jax.errors import UserError
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
        data = config.data
        if data.source != "tfds":
            raise UserError(
                f"config.data.source={data.source!r} needs no preparation: only data "
                'sets of TensorFlow Datasets ("tfds") do. Train on it at once.'
            )
        with naming("config.data"):
            data_set = prepare(
                data.tfds.name,
                data.tfds.directory,
                data.source_language,
                data.target_language,
                options.manual_directory,
            )
        for split, num_pairs in data_set.splits.items():
            print(f"{data_set.name} {split}: {num_pairs} pairs")
