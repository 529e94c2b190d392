"""Files of token ids and lengths: what a finished shard holds, and whether it is whole.

A shard is one file: for each side of its texts (source and target, or one alone) the
lengths (int32), then for each the ids (uint16, or uint32 for a large vocabulary). Its
summary beside it is written after it.
"""

import pathlib
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np


class Shard:
    """The memory-mapped parts of a shard file.

    Attributes:
      lengths: [sides, texts] int32.
      ids: the flat ids of each side.
    """

    def __init__(self, path: pathlib.Path, summary: dict[str, Any], dtype: str) -> None:
        n = summary["num_pairs"]
        num_ids = summary.get("num_ids")
        if num_ids is None:  # Written when every text was a pair.
            num_ids = [summary["num_source_ids"], summary["num_target_ids"]]
        num_bytes = 4 * len(num_ids) * n
        raw = np.memmap(path, np.uint8, "r") if n else np.zeros(0, np.uint8)
        self.lengths = raw[:num_bytes].view(np.int32).reshape(len(num_ids), n)
        self.ids = np.split(raw[num_bytes:].view(dtype), np.cumsum(num_ids)[:-1])

    def starts(self) -> np.ndarray:
        """Return [sides, texts] where each sentence starts in its side's ids."""
        return np.cumsum(self.lengths, axis=1, dtype=np.int64) - self.lengths


def gather_ids(
    pairs: np.ndarray,
    shards: np.ndarray,
    lengths: np.ndarray,
    starts: np.ndarray,
    ids: Sequence[np.ndarray],
) -> np.ndarray:
    """Return one side's ids of `pairs`, which lie in `shards`, end to end."""
    counts = lengths[pairs]
    ends = np.cumsum(counts)
    # For each token of the result: its place in the ids of its shard.
    places = np.repeat(starts[pairs] - (ends - counts), counts) + np.arange(
        counts.sum()
    )
    token_shards = np.repeat(shards, counts)
    result = np.empty(len(places), np.int32)
    for shard in np.unique(shards):
        here = token_shards == shard
        result[here] = ids[shard][places[here]]
    return result


def find_damage(directory: pathlib.Path, shard: dict[str, Any]) -> str | None:
    """Return what is wrong with a shard's file, or None if its checksum is right."""
    path = directory / shard["file"]
    if not path.is_file():
        return f"{path} is missing"
    if path.stat().st_size != shard["bytes"]:
        return f"{path} has {path.stat().st_size} bytes, expected {shard['bytes']}"
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 24):
            checksum = zlib.crc32(block, checksum)
    return None if checksum == shard["crc32"] else f"the checksum of {path} is wrong"
