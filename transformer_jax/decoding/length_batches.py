"""Batches of a few shapes for texts that are given once, as long as they come."""

from collections.abc import Iterator, Sequence

_SHORTEST_SHAPE = 16  # Positions; shorter texts are padded to this.


def length_batches(
    lengths: Sequence[int], *, tokens_per_batch: int, longest: int, row_multiple: int
) -> Iterator[tuple[list[int], int, int]]:
    """Yield which texts share a batch, its rows and its length.

    Lengths double from 16 up, and a short list takes 1/8, 1/64, ... of the rows, so
    that there are never more than a handful of shapes. Devices share the rows evenly,
    which may take a few more.

    Args:
      lengths: of the texts, in positions.
      tokens_per_batch: positions of a batch, about.
      longest: length of the longest shape.
      row_multiple: rows are a multiple of it.
    """
    by_length: dict[int, list[int]] = {}
    for text in sorted(range(len(lengths)), key=lengths.__getitem__):
        shape = _SHORTEST_SHAPE
        while shape < lengths[text]:
            shape *= 2
        by_length.setdefault(min(shape, longest), []).append(text)
    for length, members in by_length.items():
        rows = max(1, tokens_per_batch // length)
        while rows >= 8 and len(members) <= rows // 8:
            rows //= 8
        rows += -rows % row_multiple
        for start in range(0, len(members), rows):
            yield members[start : start + rows], rows, length
