"""RUN/repetitions.json: how many of the scored texts are trained on as well.

Counted once, before the first step, and kept, so that whoever reads a score later is
told without the training text.
"""

import dataclasses
import logging
import pathlib
from collections.abc import Mapping, Sequence

from transformer_jax.data.repeated_texts import Repetitions, count_repetitions
from transformer_jax.data.token_cache import Coder, TokenCache
from transformer_jax.errors import UserError
from transformer_jax.files import json_bytes, read_checked_json, with_checksum
from transformer_jax.runs.directory import RunDirectory

_LOGGER = logging.getLogger(__name__)
Counted = Mapping[str, Repetitions]  # By the name of a split, "train" too.


def keep_repetitions(
    directory: RunDirectory,
    train: TokenCache,
    splits: Sequence[str],
    sides: Sequence[str],
    tokenizers: Sequence[Coder],
) -> None:
    """Count what the kept splits repeat, unless that is known, and warn of it.

    Args:
      directory: the run; it holds its text already.
      train: tokens of the training split.
      splits: what it is scored on.
      sides: of its texts.
      tokenizers: one for each side.
    """
    fingerprints = directory.read_fingerprints()
    if _read(directory)[0] != fingerprints:
        lines = {split: directory.read_split(split, sides) for split in splits}
        counts = count_repetitions(train, lines, tokenizers)
        record = {
            "fingerprints": fingerprints,
            "splits": {
                split: dataclasses.asdict(count) for split, count in counts.items()
            },
        }
        content = json_bytes(with_checksum(record))
        directory.manifest.write(_path(directory), content)
    for note in describe(read_repetitions(directory)):
        _LOGGER.warning("%s", note)


def read_repetitions(directory: RunDirectory) -> Counted:
    """Return what was counted; nothing for runs from before it was."""
    return _read(directory)[1]


def file_repetitions(
    directory: RunDirectory,
    tokens: pathlib.Path,
    sides: Sequence[Sequence[str]],
    tokenizers: Sequence[Coder],
) -> Counted:
    """Count what other text than the run's splits repeats, as the split "scored".

    Args:
      directory: the run.
      tokens: where its tokens were kept; if they are gone, nothing is known.
      sides: the lines of each side.
      tokenizers: one for each side.
    """
    wanted = directory.read_fingerprints()
    for path in tokens.glob("train-*"):
        try:
            train = TokenCache(path)
        except UserError:
            continue
        of_text, of_tokenizers = train.manifest["text"], train.manifest["tokenizers"]
        if of_text == wanted.get("train") and wanted["tokenizer"] in of_tokenizers:
            return count_repetitions(train, {"scored": sides}, tokenizers)
    return {}


def describe(counted: Counted) -> tuple[str, ...]:
    """Return what a reader of scores on these splits should know."""
    return tuple(
        note for split, counts in counted.items() for note in counts.describe(split)
    )


def _path(directory: RunDirectory) -> pathlib.Path:
    return directory.root / "repetitions.json"


def _read(directory: RunDirectory) -> tuple[dict[str, str], Counted]:
    """Return of which text the counts are, and the counts; nothing if unknown."""
    path = _path(directory)
    if damage := directory.manifest.damage(path):
        _LOGGER.warning(
            "%s %s: how many of the scored texts are trained on too is counted again "
            "when the run goes on, and not known until then.",
            path,
            damage,
        )
        return {}, {}
    record = read_checked_json(path) or {}
    splits = record.get("splits", {}).items()
    counts = {split: Repetitions(**counted) for split, counted in splits}
    return record.get("fingerprints", {}), counts
