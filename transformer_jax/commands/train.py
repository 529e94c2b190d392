"""Train a model: flags → experiment → training loop.

python train.py --config configs/grammar_tiny.py --workdir runs/grammar
"""

import sys

from absl import flags

from transformer_jax.commands.compilation_cache import use_compilation_cache
from transformer_jax.commands.config_flags import parse_config
from transformer_jax.commands.messages import EXIT_INTERRUPTED, command
from transformer_jax.runs import experiment

_WORKDIR = flags.DEFINE_string(
    "workdir", None, "The run's directory; made if missing.", required=True
)


def main() -> None:
    """Parse the flags and train."""
    with command("train.py"):
        use_compilation_cache()
        config = parse_config("train.py", __doc__)
        if experiment.train(config, _WORKDIR.value) == "terminated":
            sys.exit(EXIT_INTERRUPTED)
