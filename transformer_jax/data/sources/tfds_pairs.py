"""Sentence pairs of a translation data set that TensorFlow Datasets has prepared."""

import dataclasses
import hashlib
import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence

from transformer_jax.data.sources.tfds_directory import (
    PreparedDataSet,
    check_languages,
    open_prepared,
)
from transformer_jax.data.text_source import OneSide, OpenRequest, TextSource
from transformer_jax.errors import UserError
from transformer_jax.fields import fixed, free

_LOGGER = logging.getLogger(__name__)

# How many records are read at once.
_BLOCK = 1024
# How many records the fingerprint looks into.
_SAMPLE = 1000
# A set without a validation split lends it this share of its training pairs.
_LARGEST_LOAN = 3_000


@dataclasses.dataclass(frozen=True)
class TfdsSettings:
    """A translation data set, prepared by `transformer_jax prepare`."""

    name: str = fixed(
        "",
        "its name and configuration, as wmt14_translate/de-en, for either direction; "
        "empty if directory is that of one prepared data set",
    )
    directory: str = free(
        "", "the folder of prepared data sets; empty: what TFDS_DATA_DIR names"
    )


def open_tfds(settings: TfdsSettings, request: OpenRequest) -> dict[str, TextSource]:
    """Open the splits of a prepared data set, and say which way they are read.

    Raises:
      UserError: if it is not there, or lacks one of the languages.
    """
    data_set = open_prepared(settings.name, settings.directory)
    first = request.languages[0]
    if first not in data_set.languages:
        raise UserError(
            f"{data_set.name} has the languages {', '.join(data_set.languages)}, but "
            f"source_language={first!r}. Set it to one that it has."
        )
    # Of sentences alone, the others' language does not matter: any pair has them.
    second = (
        request.languages[1]
        if len(request.languages) > 1
        else next(code for code in data_set.languages if code != first)
    )
    pairs: dict[str, TextSource] = {
        split: TfdsPairs(data_set, expression, first, second)
        for split, expression in split_expressions(data_set.splits).items()
    }
    _LOGGER.info("%s", data_set.describe())
    if len(request.languages) == 1:
        return {split: OneSide(source, 0) for split, source in pairs.items()}
    _LOGGER.info("Translating from %s into %s", first, second)
    return pairs


def split_expressions(splits: Mapping[str, int]) -> dict[str, str]:
    """Return what each split of a run is called in the data set.

    That is train, validation and test under their own names. A data set that has no
    validation split, as those of OPUS, gives the last hundredth of its training pairs,
    3 000 at most, which training then does not see.

    Raises:
      UserError: if there is nothing to train on.
    """
    if not splits.get("train"):
        raise UserError(
            f"The data set has no training pairs; its splits are "
            f"{', '.join(splits) or 'none'}."
        )
    expressions = {
        split: split for split in ("train", "validation", "test") if splits.get(split)
    }
    if "validation" not in expressions:
        loan = max(1, min(_LARGEST_LOAN, splits["train"] // 100))
        expressions["train"] = f"train[:-{loan}]"
        expressions["validation"] = f"train[-{loan}:]"
    return expressions


class TfdsPairs:
    """A `TextSource` over array_record files, which stay on disk.

    The order is that of the files, which TFDS shuffled when it wrote them. A pair with
    an empty side is left for the token cache to skip and count: finding these pairs
    means reading every one, which is what tokenising does anyway.

    Args:
      data_set: from `open_prepared`.
      split: TFDS's name of a split, or of a slice of one, as "train[:-100]".
      source_language: which of the data set's languages comes first in a pair.
      target_language: which comes second.
    """

    drops: Mapping[str, int] = {}

    def __init__(
        self,
        data_set: PreparedDataSet,
        split: str,
        source_language: str,
        target_language: str,
    ):
        languages = source_language, target_language
        check_languages(data_set.name, data_set.languages, *languages)
        self._languages = languages
        self._data_set = data_set
        self._split = split
        self._records = data_set.builder.as_data_source(split)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: int) -> tuple[str, str]:
        if not 0 <= index < len(self):
            raise IndexError(f"pair {index} of {len(self)}")
        return self.gather([index])[0]

    def gather(self, indices: Sequence[int]) -> list[tuple[str, str]]:
        """Return several pairs, in the given order: far quicker than one by one.

        Raises:
          UserError: if the files cannot be read.
        """
        return [pair for block in _blocks(indices) for pair in self._read(block)]

    def all_texts(self) -> Iterator[tuple[str, str]]:
        """Yield every pair in order, those with an empty side included."""
        blocks = _blocks(range(len(self)))
        return itertools.chain.from_iterable(map(self._read, blocks))

    def fingerprint(self) -> str:
        """Return a hash of the data set's account of itself, and of pairs all over it.

        Name, version, split, numbers of pairs and bytes, and a thousand pairs spread
        evenly: what lies where does not matter, and no corpus is read to its end.
        """
        split = self._data_set.builder.info.splits[self._split.split("[")[0]]
        account = [
            self._data_set.name,
            self._split,
            self._languages,
            split.num_bytes,
            split.shard_lengths,
        ]
        step = max(1, len(self) // _SAMPLE)
        sample = self.gather(range(0, len(self), step))
        return hashlib.sha256(repr((account, sample)).encode()).hexdigest()

    def _read(self, indices: Sequence[int]) -> list[tuple[str, str]]:
        """Return the pairs of these numbers, read at once."""
        source, target = self._languages
        try:
            records = self._records.__getitems__(list(indices))
        except (RuntimeError, ValueError, OSError) as error:
            raise self._unreadable(str(error)) from error
        pairs = [(record[source], record[target]) for record in records]
        # A file cut short gives records with nothing in them, and no error.
        if any(None in pair for pair in pairs):
            raise self._unreadable("records are missing")
        return [(_one_line(first), _one_line(second)) for first, second in pairs]

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
