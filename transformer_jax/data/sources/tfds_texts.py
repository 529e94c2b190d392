"""Texts of a data set that TensorFlow Datasets has prepared, whatever they are for."""

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transformer_jax.data.sources.tfds_directory import PreparedDataSet
from transformer_jax.data.text_source import Text
from transformer_jax.errors import UserError

# How many records are read at once.
_BLOCK = 1024
# How many records the fingerprint looks into.
_SAMPLE = 1000


class TfdsTexts:
    """A `TextSource` over array_record files, which stay on disk.

    The order is that of the files, which TFDS shuffled when it wrote them. A text with
    an empty side is left for the token cache to skip and count: finding these means
    reading every one, which is what tokenising does anyway.

    Args:
      data_set: from `open_prepared`.
      split: TFDS's name of a split, or of a slice of one, as "train[:-100]".
      columns: names of what an example has for each side, in their order: text, or
        classes, which become their names.
    """

    drops: Mapping[str, int] = {}

    def __init__(
        self,
        data_set: PreparedDataSet,
        split: str,
        columns: tuple[str, ...],
    ):
        self._columns = columns
        self._data_set = data_set
        self._split = split
        self._records = data_set.builder.as_data_source(split)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: int) -> Text:
        if not 0 <= index < len(self):
            raise IndexError(f"text {index} of {len(self)}")
        return self.gather([index])[0]

    def gather(self, indices: Sequence[int]) -> list[Text]:
        """Return several texts, in the given order: far quicker than one by one.

        Raises:
          UserError: if the files cannot be read.
        """
        return [text for block in _blocks(indices) for text in self._read(block)]

    def all_texts(self) -> Iterator[Text]:
        """Yield every text in order, those with an empty side included."""
        blocks = _blocks(range(len(self)))
        return itertools.chain.from_iterable(map(self._read, blocks))

    def fingerprint(self) -> str:
        """Return a hash of the data set's account of itself, and of texts all over it.

        Name, version, split, numbers of texts and bytes, and a thousand texts spread
        evenly: what lies where does not matter, and no corpus is read to its end.
        """
        split = self._data_set.builder.info.splits[self._split.split("[")[0]]
        account = [
            self._data_set.name,
            self._split,
            self._columns,
            split.num_bytes,
            split.shard_lengths,
        ]
        step = max(1, len(self) // _SAMPLE)
        sample = self.gather(range(0, len(self), step))
        return hashlib.sha256(repr((account, sample)).encode()).hexdigest()

    def _read(self, indices: Sequence[int]) -> list[Text]:
        """Return the texts of these numbers, read at once."""
        try:
            records = self._records.__getitems__(list(indices))
        except (RuntimeError, ValueError, OSError) as error:
            raise self._unreadable(str(error)) from error
        rows = [tuple(record[name] for name in self._columns) for record in records]
        # A file cut short gives records with nothing in them, and no error.
        if any(value is None for row in rows for value in row):
            raise self._unreadable("records are missing")
        return [
            tuple(
                self._as_line(name, value)
                for name, value in zip(self._columns, row, strict=True)
            )
            for row in rows
        ]

    def _as_line(self, column: str, value: Any) -> str:
        """Return what an example has in a column as a line."""
        if isinstance(value, bytes):
            return _one_line(value)
        names = self._data_set.builder.info.features[column].names
        if not 0 <= value < len(names):
            raise UserError(
                f"{self._data_set.name} has examples in its split {self._split} whose "
                f"{column} is not given, as those of GLUE's test splits."
            )
        return str(names[value])

    def _unreadable(self, reason: str) -> UserError:
        return UserError(
            f"The files of {self._data_set.name} in {self._data_set.path} cannot be "
            f"read: {reason}. If they are in a bucket, mount it as a folder or copy "
            "them to a disk; if not, they are damaged: delete that directory and "
            "prepare the data set again."
        )


def _blocks(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut a sequence into blocks, so that memory does not grow with its length."""
    return (indices[i : i + _BLOCK] for i in range(0, len(indices), _BLOCK))


def _one_line(text: bytes) -> str:
    r"""Return a sentence as a line: a "\n" within it becomes a space."""
    return text.decode().rstrip("\r\n").replace("\n", " ")
