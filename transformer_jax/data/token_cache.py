"""Text tokenised once, on disk: flat ids in shards, lengths, and a manifest.

Each shard's file is written before its summary, and the manifest last of all, so a
build that was killed goes on where it stopped.
"""

import hashlib
import itertools
import json
import logging
import os
import pathlib
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from transformer_jax.data.shards import Shard, find_damage, gather_ids
from transformer_jax.data.text_source import TextSource
from transformer_jax.errors import UserError
from transformer_jax.files import read_checked_json, with_checksum, write_atomically

_LOGGER = logging.getLogger(__name__)

_FORMAT_VERSION = 1
_MANIFEST = "manifest.json"


class Coder(Protocol):
    """Makes numbers of a side's texts: a tokenizer, labels, documents."""

    @property
    def vocab_size(self) -> int:
        """One more than the largest number."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of what it does."""
        ...

    def encode(self, sentences: Sequence[str], num_threads: int, /) -> list[list[int]]:
        """Return the numbers of each text."""
        ...


def cache_key(
    source: TextSource,
    tokenizers: Sequence[Coder],
    *,
    max_length: int,
    max_length_ratio: float = 0.0,
    shard_size: int = 1 << 16,
) -> str:
    """Return the name of the cache that these arguments make: a hash of them all."""
    settings = [max_length, float(max_length_ratio), shard_size]
    fingerprints = [tokenizer.fingerprint for tokenizer in tokenizers]
    parts = [_FORMAT_VERSION, source.fingerprint(), fingerprints, settings]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def build_token_cache(
    source: TextSource,
    tokenizers: Sequence[Coder],
    directory: str | os.PathLike[str],
    *,
    max_length: int,
    max_length_ratio: float = 0.0,
    num_threads: int,
    shard_size: int = 1 << 16,
) -> "TokenCache":
    """Tokenise every text into `directory`, or open what is there already.

    Whole shards of an earlier, interrupted build are kept; damaged ones are made again.

    Args:
      source: of the texts.
      tokenizers: one for each side; the same object where the vocabulary is joint.
      directory: of this cache alone; name it by `cache_key`.
      max_length: texts with more tokens than this on a side, EOS counted, are dropped.
      max_length_ratio: texts whose longer side has more than this many times the tokens
        of the shorter are dropped; 0 keeps all.
      num_threads: threads that tokenise.
      shard_size: texts of the source that go into a shard.

    Raises:
      UserError: if no pair is left, or the directory holds the cache of something else.
    """
    directory = pathlib.Path(directory)
    settings = {
        "max_length": max_length,
        "max_length_ratio": float(max_length_ratio),
        "shard_size": shard_size,
    }
    key = cache_key(source, tokenizers, **settings)  # type: ignore[arg-type]
    found = read_checked_json(directory / _MANIFEST)
    if found and found.get("key") != key:
        raise UserError(
            f"{directory} holds tokens of another text, tokenizer or setting (key "
            f"{found.get('key')}, expected {key}). Use another directory or delete it."
        )
    if found and not any(find_damage(directory, shard) for shard in found["shards"]):
        return TokenCache(directory, verify=False)
    writer = _ShardWriter(
        source,
        tokenizers,
        directory,
        settings,
        key,
        num_threads,
    )
    shards: list[dict[str, Any]] = []
    for first in range(0, len(source), shard_size):
        _LOGGER.info("Tokenising from pair %d of %d", first, len(source))
        shards.append(writer.shard(len(shards)))
    drops = Counter(source.drops)
    for shard in shards:
        drops.update(shard["drops"])
    num_pairs = sum(shard["num_pairs"] for shard in shards)
    if not num_pairs:
        raise UserError(
            f"None of the {len(source)} pairs is left after filtering; dropped: "
            f"{_describe_drops(drops)}. Raise max_length (now {max_length}) or "
            f"max_length_ratio (now {max_length_ratio:g}), or check the text."
        )
    manifest = {
        "format_version": _FORMAT_VERSION,
        "key": key,
        "text": source.fingerprint(),
        "tokenizers": [tokenizer.fingerprint for tokenizer in tokenizers],
        "settings": settings,
        "num_pairs": num_pairs,
        "drops": dict(drops),
        "dtype": writer.dtype.name,
        "shards": shards,
    }
    with write_atomically(directory / _MANIFEST) as file:
        file.write(json.dumps(with_checksum(manifest), indent=1).encode())
    _LOGGER.info(
        "Tokenised %d pairs; dropped: %s", num_pairs, _describe_drops(drops) or "none"
    )
    return TokenCache(directory, verify=False)


class TokenCache:
    """Token ids of all pairs, memory-mapped; only lengths and offsets are in memory.

    Attributes:
      manifest: the settings, counts, hashes and checksums of the cache.
      lengths: [sides, texts] int32, tokens without special ones.
    """

    def __init__(
        self, directory: str | os.PathLike[str], *, verify: bool = True
    ) -> None:
        """Open a finished cache.

        Raises:
          UserError: if it is unfinished, or (with `verify`) a shard is damaged.
        """
        self.directory = pathlib.Path(directory)
        manifest = read_checked_json(self.directory / _MANIFEST)
        if not manifest:
            raise UserError(
                f"{directory} holds no finished token cache ({_MANIFEST} is missing or "
                "broken). Start the run again to build it."
            )
        self.manifest = manifest
        shards = manifest["shards"]
        damages = (find_damage(self.directory, shard) for shard in shards if verify)
        if damage := next(filter(None, damages), None):
            raise UserError(
                f"The token cache in {directory} is damaged: {damage}. Start the run "
                "again to tokenise this shard once more, or delete the directory."
            )
        files = [
            Shard(self.directory / s["file"], s, self.manifest["dtype"]) for s in shards
        ]
        self.lengths = np.concatenate([file.lengths for file in files], axis=1)
        self._first_texts = np.cumsum([0] + [s["num_pairs"] for s in shards])
        self._sides = [
            (self.lengths[side], starts, [file.ids[side] for file in files])
            for side, starts in enumerate(
                np.concatenate([file.starts() for file in files], axis=1)
            )
        ]

    def __len__(self) -> int:
        return self.lengths.shape[1]

    def gather(self, texts: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the ids of several texts, laid end to end in the given order.

        Args:
          texts: [n] their numbers.

        Returns:
          For each side, [sum of the texts' lengths] int32, without special tokens.
        """
        shards = np.searchsorted(self._first_texts, texts, side="right") - 1
        return tuple(
            gather_ids(texts, shards, lengths, starts, ids)
            for lengths, starts, ids in self._sides
        )


class _ShardWriter:
    """Makes the shards of one cache, or finds them made."""

    def __init__(
        self,
        source: TextSource,
        tokenizers: Sequence[Coder],
        directory: pathlib.Path,
        settings: dict[str, Any],
        key: str,
        num_threads: int,
    ) -> None:
        self.source = source
        self.tokenizers = tokenizers
        self.directory = directory
        self.settings = settings
        self.key = key
        self.num_threads = num_threads
        largest = max(tokenizer.vocab_size for tokenizer in tokenizers)
        self.dtype = np.dtype(np.uint16 if largest <= 1 << 16 else np.uint32)

    def shard(self, number: int) -> dict[str, Any]:
        """Return the summary of a shard, which lies whole on disk when this returns."""
        path = self.directory / f"shard-{number:05d}.bin"
        summary_path = path.with_suffix(".json")
        summary = read_checked_json(summary_path)
        if summary and summary.get("key") == self.key:
            damage = find_damage(self.directory, summary)
            if not damage:
                return summary
            _LOGGER.warning("Tokenising a shard again: %s", damage)
        content, summary = self._tokenise(number)
        summary |= {"file": path.name, "key": self.key, "bytes": len(content)}
        summary["crc32"] = zlib.crc32(content)
        with write_atomically(path) as file:
            file.write(content)
        with write_atomically(summary_path) as file:
            file.write(json.dumps(with_checksum(summary)).encode())
        return summary

    def _tokenise(self, number: int) -> tuple[bytes, dict[str, Any]]:
        """Return a shard's bytes and what they hold."""
        size = self.settings["shard_size"]
        numbers = range(number * size, min((number + 1) * size, len(self.source)))
        texts = zip(*self.source.gather(numbers), strict=True)
        sides = [
            tokenizer.encode(text, self.num_threads)
            for tokenizer, text in zip(self.tokenizers, texts, strict=True)
        ]
        lengths = np.array([[len(ids) for ids in side] for side in sides], np.int32)
        keep, drops = _filter(
            lengths, self.settings["max_length"], self.settings["max_length_ratio"]
        )
        flat = []
        for side in sides:
            kept = itertools.compress(side, keep)
            ids = itertools.chain.from_iterable(kept)
            flat.append(np.fromiter(ids, self.dtype))
        lengths = lengths[:, keep]
        content = b"".join(array.tobytes() for array in (lengths, *flat))
        return content, {
            "num_pairs": lengths.shape[1],
            "num_ids": [len(ids) for ids in flat],
            "drops": drops,
        }


def _filter(
    lengths: np.ndarray, max_length: int, max_length_ratio: float
) -> tuple[np.ndarray, dict[str, int]]:
    """Tell which pairs stay, and count the others by the first reason that fits.

    Args:
      lengths: [sides, texts] tokens, without special ones.
      max_length: most tokens on a side, EOS counted.
      max_length_ratio: most tokens of the longer side for one of the shorter; 0 is off.
    """
    shorter, longer = lengths.min(axis=0), lengths.max(axis=0)
    reasons = {"empty": shorter == 0, "too long": longer + 1 > max_length}
    if max_length_ratio:
        reasons["length ratio"] = longer > max_length_ratio * shorter
    keep = np.ones(lengths.shape[1], bool)
    drops = {}
    for reason, applies in reasons.items():
        if count := int(np.sum(keep & applies)):
            drops[reason] = count
        keep &= ~applies
    return keep, drops


def _describe_drops(drops: Counter[str]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in drops.items() if count)
