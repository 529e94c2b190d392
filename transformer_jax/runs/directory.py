"""What a run keeps on disk, and whether a config may go on with it.

RUN/config.json        every field, as it was trained
RUN/manifest.json      checksums of the files that results depend on
RUN/data.json          fingerprints of the text and the tokenizers
RUN/tokenizer.model    sentencepiece, joint for both languages
RUN/text/              the validation and test splits that the run is scored on
RUN/repetitions.json   how many of their texts are trained on too
RUN/tokens/            tokenised text, unless data.cache_directory names a place
RUN/checkpoints/       full states, to go on from
RUN/parameters/        weights alone: the last few, and the best
RUN/metrics.jsonl      a row for each log, each validation and each save
RUN/events/            the same for TensorBoard
RUN/trackers/          the same for Weights & Biases and MLflow
RUN/hardware.json      what it was trained on, from which step
RUN/evaluation/        scores, and the translations that were scored
RUN/lock               who trains here; gone when nobody does
"""

import contextlib
import json
import logging
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import ml_collections

from transformer_jax.config.tree import fields_of, leaves
from transformer_jax.config.versions import read_fields
from transformer_jax.data.lines import read_lines
from transformer_jax.errors import UserError
from transformer_jax.files import (
    as_path,
    json_bytes,
    read_json,
    with_checksum,
    write_atomically,
    write_json,
)
from transformer_jax.runs.manifest import ACCEPT, Manifest
from transformer_jax.training import step_folders
from transformer_jax.training.metrics_file import read_rows

_LOGGER = logging.getLogger(__name__)
# What a run consists of; none of it is the place for another one.
_PARTS = (
    "config.json manifest.json data.json tokenizer.model text repetitions.json tokens "
    "checkpoints parameters metrics.jsonl events trackers hardware.json evaluation lock"
).split()


class RunDirectory:
    """The paths inside a run, and the small files that describe it."""

    def __init__(self, root: str | os.PathLike[str]):
        self.root = as_path(root)
        self.config_path = self.root / "config.json"
        self.data_path = self.root / "data.json"
        self.tokenizer_path = self.root / "tokenizer.model"
        self.text = self.root / "text"
        self.tokens = self.root / "tokens"
        self.metrics_path = self.root / "metrics.jsonl"
        self.events = self.root / "events"
        self.trackers = self.root / "trackers"
        self.evaluation = self.root / "evaluation"
        self.manifest = Manifest(self.root)

    def read_config(self) -> ml_collections.ConfigDict:
        """Return the config the run was trained with.

        Raises:
          UserError: if this is not a run, or its config is not as it was written.
        """
        if self.is_begun:
            self.manifest.check(self.config_path)
        self.check_is_run()
        try:
            fields = json.loads(self.config_path.read_bytes())
            fields["version"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UserError(
                f"{self.config_path} is not the config of a run. {self.advice}"
            ) from error
        try:
            return read_fields(fields)
        except UserError as error:
            raise UserError(f"{self.config_path} cannot be used: {error}") from error

    def check_is_run(self) -> None:
        """Refuse a folder that no run has been trained in.

        Raises:
          UserError: names it.
        """
        if not self.config_path.is_file():
            raise UserError(
                f"{self.root} is not a run: it has no config.json. {self.advice}"
            )

    @property
    def advice(self) -> str:
        """What to give instead of a directory that is no run."""
        if run := self._run_above():
            return f"It is a part of the run {run}; give that."
        runs = [path.name for path in self.root.glob("*") if _is_begun(path)]
        if runs:
            return f"It holds runs ({', '.join(sorted(runs)[:5])}); give one of them."
        return "Give the --workdir of a training."

    def check_place(self) -> None:
        """Refuse a part of a run as the place for another one.

        Raises:
          UserError: names the run.
        """
        if run := self._run_above():
            raise UserError(
                f"{self.root} is a part of the run {run}. Give that to go on with it, "
                "or another --workdir."
            )

    def _run_above(self) -> pathlib.Path | None:
        """Return the run whose own folders or files this lies among, if there is one.

        Three levels are enough: RUN/parameters/100/default.
        """
        path = pathlib.Path(os.path.abspath(self.root))
        for folder in path.parents[:3]:
            if path.relative_to(folder).parts[0] in _PARTS and _is_begun(folder):
                return folder
        return None

    @property
    def is_begun(self) -> bool:
        """Whether anything was trained here, rather than only prepared."""
        return _is_begun(self.root)

    def claim(
        self, config: ml_collections.ConfigDict, sides: Sequence[str]
    ) -> list[str]:
        """Take the directory for `config`, or make sure that its run may go on.

        What an earlier start prepared, but never trained with, is made anew.

        Args:
          config: of the run.
          sides: of its texts.

        Returns:
          One line for each field that differs from before and may.

        Raises:
          UserError: if the directory holds a run with another result, or files that
            are no run's.
        """
        changes: list[str] = []
        if self.is_begun:
            changes = _compare(self.read_config(), config, self.root)
            if not self.manifest.is_whole:  # The run is older, or it was said.
                self.read_fingerprints()  # Refuses a run that has none.
                self.accept_files()
        elif self.config_path.exists():
            self.read_config()  # Refuses a file that no run has written.
            self.manifest.begin()
            copies = [
                path for side in sides for path in self.text.glob(f"*.{side}.txt")
            ]
            for path in (self.data_path, self.tokenizer_path, *copies):
                path.unlink(missing_ok=True)
        elif taken := [
            path.name
            for path in (self.data_path, self.tokenizer_path, self.text)
            if path.exists()
        ]:
            raise UserError(
                f"{self.root} is no run, but holds {', '.join(taken)}, which a run "
                "would write over. Give another --workdir."
            )
        else:
            self.manifest.begin()
        self.manifest.write(self.config_path, json_bytes(json.loads(config.to_json())))
        return changes

    def accept_files(self) -> None:
        """Take the run's small files for right as they are."""
        edited = _read_object(self.data_path)
        self.manifest.accept(self.kept_files(), edited or self.manifest.fingerprints)

    def kept_files(self) -> list[pathlib.Path]:
        """Return the files that a run's results depend on, of those that are there."""
        paths = (
            self.config_path,
            self.tokenizer_path,
            *sorted(self.text.glob("*.*.txt")),
        )
        return [path for path in paths if path.is_file()]

    def check_data(self, fingerprints: Mapping[str, str]) -> None:
        """Write down what text and tokenizers the run uses, or compare with before.

        Raises:
          UserError: if the run was begun with other text or another tokenizer.
        """
        before = self.read_fingerprints()
        names = [
            name
            for name in sorted(before.keys() | fingerprints.keys())
            if before and before.get(name) != fingerprints.get(name)
        ]
        if names:
            raise UserError(
                f"{self.root} was trained with another {' and another '.join(names)} "
                "than the config names now. Give the same text and tokenizer, or use "
                "another --workdir."
            )
        self.manifest.record_data(fingerprints)
        if _read_object(self.data_path) != fingerprints:
            write_json(self.data_path, dict(fingerprints))

    def read_fingerprints(self) -> dict[str, str]:
        """Return what `check_data` wrote down, by the name of a text or tokenizer.

        Without a manifest data.json counts alone. A run that has begun nothing, or
        whose files were accepted without them, has none.

        Raises:
          UserError: if the run must have them, and both files are missing or damaged.
        """
        if self.manifest.is_whole:
            return self.manifest.fingerprints
        found = _read_object(self.data_path)
        if not found and self.is_begun:
            raise UserError(
                f"{self.data_path} and manifest.json beside it are missing or damaged, "
                "so nothing says what text and tokenizer the run was trained with. "
                f"Copy one of them back, or take what is there for right: `{ACCEPT} "
                f"{self.root}`."
            )
        return found or {}

    def read_metrics(self) -> list[Mapping[str, Any]]:
        """Return the rows of `metrics.jsonl`, in order; none before the first."""
        rows = list(read_rows(self.metrics_path))
        last = rows[-1]["step"] if rows else 0
        # A row is written before its step is saved.
        saved = max(step_folders.finished_steps(self.root / "parameters"), default=0)
        if last < saved:
            _LOGGER.warning(
                "%s ends at step %d, but the run was saved at step %d: later rows are "
                "lost, and sums and means are without them.",
                self.metrics_path,
                last,
                saved,
            )
        return rows

    def check_tokenizer(self, fingerprint: str) -> None:
        """Make sure that the tokenizer is the one the weights were trained with.

        Raises:
          UserError: if it is another.
        """
        if self.read_fingerprints().get("tokenizer", fingerprint) != fingerprint:
            raise UserError(
                f"{self.tokenizer_path} is not the tokenizer that this run was trained "
                "with. Copy the right one back."
            )

    def write_split(
        self, split: str, texts: Iterable[tuple[str, ...]], sides: Sequence[str]
    ) -> None:
        """Keep a copy of a split's text, unless there is a whole one already."""
        paths = self.split_paths(split, sides)
        damages = [path for path in paths if self.manifest.damage(path)]
        if paths[-1].exists() and not damages:
            return
        for path in damages:
            _LOGGER.warning("%s is missing or damaged; it is written anew", path)
        with contextlib.ExitStack() as stack:
            # The last one, which says that all are there, is closed last.
            files = [
                stack.enter_context(write_atomically(path)) for path in paths[::-1]
            ]
            for text in texts:
                for file, sentence in zip(files, reversed(text), strict=True):
                    file.write(f"{sentence}\n".encode())
        self.manifest.record(paths)

    def split_paths(self, split: str, sides: Sequence[str]) -> list[pathlib.Path]:
        """Return where the sides of a split's copy lie."""
        return [self.text / f"{split}.{side}.txt" for side in sides]

    def read_split(
        self, split: str, sides: Sequence[str] = ("source", "target")
    ) -> tuple[list[str], ...]:
        """Return the lines of each side of a split.

        Raises:
          UserError: if the run has no such split, or it is not as it was written.
        """
        paths = self.split_paths(split, sides)
        for path in paths:
            self.manifest.check(
                path, "Training writes it anew from the text, if it is started again."
            )
        if not paths[-1].exists():
            splits = sorted(
                {path.name.split(".")[0] for path in self.text.glob("*.txt")}
            )
            raise UserError(
                f"{self.root} keeps no {split} split, only "
                f"{', '.join(splits) or 'none'}. Give --source and --reference files "
                "instead."
            )
        return tuple(read_lines(path) for path in paths)

    def write_evaluation(
        self,
        name: str,
        report: Mapping[str, Any],
        translations: Sequence[str],
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        """Keep scores as `name`.json and what was scored as `name`.txt.

        Args:
          name: of the files.
          report: the scores, for JSON.
          translations: one a line.
          folder: where to, if not into the run.
        """
        folder = self.evaluation if folder is None else as_path(folder)
        write_json(folder / f"{name}.json", with_checksum(report))
        with write_atomically(folder / f"{name}.txt") as file:
            file.writelines(f"{line}\n".encode() for line in translations)


def _is_begun(root: pathlib.Path) -> bool:
    folders = (root / "checkpoints", root / "parameters")
    return any(path.name.isdigit() for folder in folders for path in folder.glob("*"))


def _read_object(path: pathlib.Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if there is none."""
    found = read_json(path)
    return found if isinstance(found, dict) else None


def _compare(
    old: ml_collections.ConfigDict,
    new: ml_collections.ConfigDict,
    root: pathlib.Path,
) -> list[str]:
    """Return the differences that may be, or fail with those that may not.

    A field's declaration says whether it may change. Text is compared by its
    fingerprint instead of by its path.
    """
    before, after = dict(leaves(old)), dict(leaves(new))
    fields = fields_of(old.model.name, old.task.name)
    lines = {
        path: f"config.{path}: {before.get(path)!r} before, {after.get(path)!r} now"
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    }
    fixed = [path for path in lines if path not in fields or not fields[path].is_free]
    if fixed:
        listed = "\n  ".join(lines[path] for path in fixed)
        raise UserError(
            f"{root} holds a run whose result depends on fields that differ now:\n"
            f"  {listed}\n"
            "Use the same values to go on with it, or another --workdir to start anew."
        )
    return list(lines.values())
