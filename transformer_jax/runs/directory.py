"""What a run keeps on disk, and whether a config may go on with it.

RUN/config.json        every field, as it was trained
RUN/data.json          fingerprints of the text and the tokenizers
RUN/tokenizer.model    sentencepiece, joint for both languages
RUN/text/              the validation and test splits that the run is scored on
RUN/tokens/            tokenised text, unless data.cache_directory names a place
RUN/checkpoints/       full states, to go on from
RUN/parameters/        weights alone: the last few, and the best
RUN/metrics.jsonl      a row for each log, each validation and each save
RUN/events/            the same for TensorBoard
RUN/hardware.json      what it was trained on, from which step
RUN/evaluation/        scores, and the translations that were scored
"""

import json
import os
import pathlib
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import ml_collections

from transformer_jax.config.default import CONFIG_VERSION
from transformer_jax.data.lines import read_lines
from transformer_jax.errors import UserError
from transformer_jax.files import write_atomically, write_json

# A run may go on with other values of these: they change where, how fast or how long it
# runs and how it is looked at, but not what an update does. Text is compared by its
# fingerprint instead of by its path.
_FREE_FIELDS = (
    "data.directory",
    "data.train_source",
    "data.train_target",
    "data.validation_source",
    "data.validation_target",
    "data.test_source",
    "data.test_target",
    "data.tfds.directory",
    "data.tokenizer_path",
    "data.cache_directory",
    "data.num_workers",
    "training.num_steps",
    "training.num_micro_batches",
    "training.patience",
    "training.max_skipped_updates",
    "training.log_every_steps",
    "decoding.",
    "evaluation.",
    "checkpoints.",
    "sharding.",
)


class RunDirectory:
    """The paths inside a run, and the small files that describe it."""

    def __init__(self, root: str | os.PathLike[str]):
        self.root = pathlib.Path(root)
        self.config_path = self.root / "config.json"
        self.data_path = self.root / "data.json"
        self.tokenizer_path = self.root / "tokenizer.model"
        self.text = self.root / "text"
        self.tokens = self.root / "tokens"
        self.metrics_path = self.root / "metrics.jsonl"
        self.events = self.root / "events"
        self.hardware_path = self.root / "hardware.json"
        self.evaluation = self.root / "evaluation"

    def read_config(self) -> ml_collections.ConfigDict:
        """Return the config the run was trained with.

        Raises:
          UserError: if this is not a run.
        """
        if not self.config_path.is_file():
            raise UserError(
                f"{self.root} is not a run: it has no config.json. Give the --workdir "
                "that train.py wrote."
            )
        try:
            fields = json.loads(self.config_path.read_text())
            version = fields["version"]
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"{self.config_path} is not the config of a run. Give the --workdir "
                "that train.py wrote."
            ) from error
        if version != CONFIG_VERSION:
            raise UserError(
                f"{self.config_path} has version {version}; this program reads version "
                f"{CONFIG_VERSION}. Use the program that wrote it."
            )
        return ml_collections.ConfigDict(fields)

    @property
    def is_begun(self) -> bool:
        """Whether anything was trained here, rather than only prepared."""
        folders = (self.root / "checkpoints", self.root / "parameters")
        return self.config_path.exists() and any(
            path.name.isdigit() for folder in folders for path in folder.glob("*")
        )

    def claim(self, config: ml_collections.ConfigDict) -> list[str]:
        """Take the directory for `config`, or make sure that its run may go on.

        What an earlier start prepared, but never trained with, is made anew.

        Returns:
          One line for each field that differs from before and may.

        Raises:
          UserError: if the directory holds a run with another result, or files that
            are no run's.
        """
        changes: list[str] = []
        if self.is_begun:
            changes = _compare(self.read_config(), config, self.root)
        elif self.config_path.exists():
            self.read_config()  # Refuses a file that no run has written.
            splits = [
                self.split_paths(split) for split in ("validation", "test", "long")
            ]
            for path in (self.data_path, self.tokenizer_path, *sum(splits, ())):
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
        write_json(self.config_path, json.loads(config.to_json()))
        return changes

    def check_data(self, fingerprints: Mapping[str, str]) -> None:
        """Write down what text and tokenizers the run uses, or compare with before.

        Raises:
          UserError: if the run was begun with other text or another tokenizer.
        """
        if not self.data_path.exists():
            write_json(self.data_path, dict(fingerprints))
            return
        before = json.loads(self.data_path.read_text())
        names = [
            name
            for name in sorted(before.keys() | fingerprints.keys())
            if before.get(name) != fingerprints.get(name)
        ]
        if names:
            raise UserError(
                f"{self.root} was trained with another {' and another '.join(names)} "
                "than the config names now. Give the same text and tokenizer, or use "
                "another --workdir."
            )

    def record_hardware(self, step: int, hardware: Mapping[str, Any]) -> None:
        """Write down what the run is trained on from `step` on.

        Args:
          step: updates done.
          hardware: from `sharding.mesh.describe_devices`; this host's processor is
            added.
        """
        hardware = {
            **hardware,
            "processor": _processor(),
            "num_logical_cores": os.cpu_count(),
        }
        kept = [entry for entry in self.read_hardware() if entry["from_step"] < step]
        if not kept or kept[-1] != {"from_step": kept[-1]["from_step"], **hardware}:
            kept.append({"from_step": step, **hardware})
        write_json(self.hardware_path, kept)

    def read_hardware(self) -> list[Mapping[str, Any]]:
        """Return what the run was trained on, in order; nothing if it never was."""
        if not self.hardware_path.exists():
            return []
        return json.loads(self.hardware_path.read_text())

    def check_tokenizer(self, fingerprint: str) -> None:
        """Make sure that the tokenizer is the one the weights were trained with.

        Raises:
          UserError: if it is another.
        """
        if json.loads(self.data_path.read_text())["tokenizer"] != fingerprint:
            raise UserError(
                f"{self.tokenizer_path} is not the tokenizer that this run was trained "
                "with. Copy the right one back."
            )

    def write_split(self, split: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Keep a copy of a split's text, unless there is one already."""
        source_path, target_path = self.split_paths(split)
        if target_path.exists():
            return
        with (
            write_atomically(target_path) as target_file,
            write_atomically(source_path) as source_file,
        ):
            for source, target in pairs:
                source_file.write(f"{source}\n".encode())
                target_file.write(f"{target}\n".encode())

    def split_paths(self, split: str) -> tuple[pathlib.Path, pathlib.Path]:
        """Return where the two sides of a split's copy lie."""
        return self.text / f"{split}.source.txt", self.text / f"{split}.target.txt"

    def read_split(self, split: str) -> tuple[list[str], list[str]]:
        """Return the source and the target lines of a split.

        Raises:
          UserError: if the run has no such split.
        """
        source_path, target_path = self.split_paths(split)
        if not target_path.exists():
            splits = sorted(
                {path.name.split(".")[0] for path in self.text.glob("*.txt")}
            )
            raise UserError(
                f"{self.root} keeps no {split} split, only "
                f"{', '.join(splits) or 'none'}. Give --source and --reference files "
                "instead."
            )
        return read_lines(source_path), read_lines(target_path)

    def write_evaluation(
        self, name: str, report: Mapping[str, Any], translations: Sequence[str]
    ) -> None:
        """Keep scores as `name`.json and what was scored as `name`.txt."""
        write_json(self.evaluation / f"{name}.json", report)
        with write_atomically(self.evaluation / f"{name}.txt") as file:
            file.writelines(f"{line}\n".encode() for line in translations)


def _processor() -> str:
    """Name the host's processor as Linux does, elsewhere its architecture."""
    path = pathlib.Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _compare(
    old: ml_collections.ConfigDict,
    new: ml_collections.ConfigDict,
    root: pathlib.Path,
) -> list[str]:
    """Return the differences that may be, or fail with those that may not."""
    before, after = dict(_leaves(old)), dict(_leaves(new))
    differing = [
        name
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    lines = {
        name: f"config.{name}: {before.get(name)!r} before, {after.get(name)!r} now"
        for name in differing
    }
    fixed = [name for name in differing if not name.startswith(_FREE_FIELDS)]
    if fixed:
        listed = "\n  ".join(lines[name] for name in fixed)
        raise UserError(
            f"{root} holds a run whose result depends on fields that differ now:\n"
            f"  {listed}\n"
            "Use the same values to go on with it, or another --workdir to start anew."
        )
    return list(lines.values())


def _leaves(config: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every field of a tree of configs as (dotted name, value)."""
    for name, value in config.items():
        if isinstance(value, ml_collections.ConfigDict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
