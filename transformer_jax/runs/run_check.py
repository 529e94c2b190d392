"""Whether what a run keeps on disk is as it was written, file by file."""

import dataclasses
import os
import pathlib
from collections.abc import Iterator

from transformer_jax.files import sha256_of
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.run_lock import training_lock
from transformer_jax.training import step_folders
from transformer_jax.training.checkpoints import CheckpointStore


@dataclasses.dataclass(frozen=True)
class Finding:
    """A file or a checkpoint of a run.

    Attributes:
      path: within the run.
      damage: what is wrong with it; None where nothing is.
    """

    path: str
    damage: str | None


def check_run(workdir: str | os.PathLike[str]) -> list[Finding]:
    """Read all that a run's results depend on, and say of each whether it is whole.

    Raises:
      UserError: if this is not a run.
    """
    directory = RunDirectory(workdir)
    directory.check_is_run()
    # Checkpoints come by absolute paths, other files by the run's as it was given.
    return [
        Finding(os.path.relpath(path, directory.root), damage)
        for path, damage in _findings(directory)
    ]


def _findings(directory: RunDirectory) -> Iterator[tuple[pathlib.Path, str | None]]:
    manifest = directory.manifest
    if not manifest.is_whole:
        yield manifest.path, "is missing or damaged"
    for path in sorted({*directory.kept_files(), *manifest.files()}):
        yield path, manifest.damage(path)
    with CheckpointStore(directory.root) as store:
        for folder in store.folders():
            yield folder, step_folders.find_damage(folder)
        for name, steps in (
            ("checkpoints", store.steps()),
            ("parameters", store.params_steps()),
        ):
            if not steps:
                yield directory.root / name, "holds no finished step"


def accept_run(workdir: str | os.PathLike[str]) -> None:
    """Take a run's small files for right as they are, edited by hand or not.

    Checkpoints keep their checksums: nothing in them is meant to be edited.

    Raises:
      UserError: if this is not a run, its config cannot be used, or somebody trains in
        it.
    """
    directory = RunDirectory(workdir)
    directory.check_is_run()
    with training_lock(directory.root):
        directory.accept_files()
        fingerprints = directory.read_fingerprints()
        if fingerprints and directory.tokenizer_path.is_file():
            tokenizer = {"tokenizer": sha256_of(directory.tokenizer_path)}
            directory.manifest.record_data(fingerprints | tokenizer)
    directory.read_config()
