"""From texts to their classes: tokenizer, model and labels together."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from transformer_jax.data.labels import Labels
from transformer_jax.data.marked_words import MarkedWords, unmark
from transformer_jax.data.sentence_rows import SentenceRows, sentence_rows
from transformer_jax.data.text_source import Text
from transformer_jax.data.tokenizer_file import AnyTokenizer
from transformer_jax.decoding.length_batches import length_batches
from transformer_jax.models.bert import Bert
from transformer_jax.models.dropout import DropoutBits


@dataclasses.dataclass(frozen=True)
class ClassifierSettings:
    """How to classify.

    Attributes:
      row_length: pieces of a row at most; a longer text loses its end, or is tagged in
        parts.
      tokens_per_batch: positions of a batch, about.
    """

    row_length: int
    tokens_per_batch: int


class Prediction(NamedTuple):
    """The classes of a text, or of each of its words.

    Attributes:
      classes: their numbers: one, or one for each word.
      probabilities: of each.
    """

    classes: tuple[int, ...]
    probabilities: tuple[float, ...]


class _Row(NamedTuple):
    """What shares a row of a batch.

    Attributes:
      text: number of the text.
      sentences: the ids of each sentence.
      places: columns of the row whose classes are asked for.
    """

    text: int
    sentences: Sequence[Sequence[int]]
    places: Sequence[int]


class Classifier:
    """Classifies texts, or tags their words, with one model.

    Attributes:
      params: the model's; may be replaced between calls without a new compilation.
      labels: the names of the classes.
    """

    def __init__(
        self,
        model: Bert,
        params: Any,
        tokenizer: AnyTokenizer,
        labels: Labels,
        settings: ClassifierSettings,
        placement: NamedSharding | None = None,
    ) -> None:
        """Make ready; compiles nothing yet.

        Args:
          model: what classifies.
          params: the model's, whole on every device of `placement`.
          tokenizer: of the texts.
          labels: of the texts or their words.
          settings: how to classify.
          placement: how the rows of a batch are split over devices; None: all on one.
        """
        self.params = params
        self.labels = labels
        self._tokenizer = tokenizer
        self._settings = settings
        self._placement = placement
        self._num_devices = 1 if placement is None else placement.mesh.size
        self._classify = jax.jit(functools.partial(_classify, model, labels))

    def classify(self, texts: Sequence[Text]) -> list[Prediction]:
        """Return the classes of texts, in the given order.

        Which others share a batch with a text does not change them.

        Args:
          texts: one sentence or two each; words are what spaces part.
        """
        rows = list(
            self._rows_of_words(texts)
            if self.labels.is_of_words
            else self._rows_of_texts(texts)
        )
        lengths = [
            sum(map(len, row.sentences)) + len(row.sentences) + 1 for row in rows
        ]
        found: list[Any] = [None] * len(rows)
        for members, num_rows, length in length_batches(
            lengths,
            tokens_per_batch=self._settings.tokens_per_batch,
            longest=self._settings.row_length,
            row_multiple=self._num_devices,
        ):
            batch = sentence_rows(
                [rows[member].sentences for member in members],
                (num_rows, length),
                self._tokenizer.specials,
            )
            batch = jax.device_put(batch, self._placement)
            classes, probabilities = jax.device_get(self._classify(self.params, batch))
            for place, member in enumerate(members):
                columns = list(rows[member].places)
                found[member] = classes[place, columns], probabilities[place, columns]
        parts: list[list[Any]] = [[] for _ in texts]
        for row, result in zip(rows, found, strict=True):
            parts[row.text].append(result)
        return [
            Prediction(
                tuple(int(n) for classes, _ in of_text for n in classes),
                tuple(float(p) for _, found in of_text for p in found),
            )
            for of_text in parts
        ]

    def _rows_of_texts(self, texts: Sequence[Text]) -> Iterator[_Row]:
        """Yield a row for each text; its class stands at the first place."""
        sides = [self._tokenizer.encode(side) for side in zip(*texts, strict=True)]
        for text, sentences in enumerate(zip(*sides, strict=True)):
            yield _Row(text, sentences, [0])

    def _rows_of_words(self, texts: Sequence[Text]) -> Iterator[_Row]:
        """Yield rows of whole words, several where a text is too long for one."""
        room = self._settings.row_length - 2
        marked = MarkedWords(self._tokenizer).encode([text for (text,) in texts])
        for text, numbers in enumerate(marked):
            pieces, is_first = unmark(np.array(numbers, np.int64))
            starts = np.flatnonzero(is_first).tolist()
            first = 0
            while first < len(starts):
                last = first + 1  # A word that is too long by itself loses its end.
                ends = [*starts[1:], len(pieces)]
                while last < len(starts) and ends[last] - starts[first] <= room:
                    last += 1
                within = pieces[starts[first] : ends[last - 1]].tolist()
                places = [start - starts[first] + 1 for start in starts[first:last]]
                yield _Row(text, [within], places)
                first = last


def class_logits(
    model: Bert,
    params: Any,
    rows: SentenceRows,
    labels: Labels,
    dropout: DropoutBits | None = None,
) -> jax.Array:
    """Score the classes of rows, or of each of their positions.

    Returns:
      [rows, 1, num_classes], or [rows, length, num_classes] for labels of words.
    """
    logits: Any = model.apply(
        {"params": params},
        rows.tokens,
        segments=rows.segments,
        token_types=rows.token_types,
        dropout=dropout,
        method=model.tag if labels.is_of_words else model.classify,
    )
    return logits


def _classify(
    model: Bert, labels: Labels, params: Any, rows: SentenceRows
) -> tuple[jax.Array, jax.Array]:
    """Return the likeliest class and its probability: [rows, places] each."""
    logits = class_logits(model, params, rows, labels).astype(jnp.float32)
    probabilities = jax.nn.softmax(logits, axis=-1)
    return jnp.argmax(logits, axis=-1), jnp.max(probabilities, axis=-1)
