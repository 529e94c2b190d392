"""train.py as a child process, on the built-in corpus or a folder of text."""

import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping, Sequence

_ROOT = pathlib.Path(__file__).resolve().parents[1]
# The corpus has too few words for more.
_VOCAB_SIZE = 3_000


def grammar_flags(num_pairs: int = 20_000) -> list[str]:
    """Return what lets any config of translation train on the built-in corpus."""
    return [
        "--config.data.source=grammar",
        f"--config.data.grammar.num_train_pairs={num_pairs}",
        f"--config.data.vocab_size={_VOCAB_SIZE}",
    ]


def start_training(
    config: str, run: pathlib.Path, flags: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start to train; what it says goes into RUN.log.

    Args:
      config: path of the config file.
      run: the run's directory.
      flags: changes to the config.
      environment: all of the process's variables.
    """
    run.parent.mkdir(parents=True, exist_ok=True)
    arguments = ["--config", config, "--workdir", str(run), *flags]
    with run.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, os.fspath(_ROOT / "train.py"), *arguments],
            env=dict(environment),
            stdout=log,
            stderr=log,
        )
