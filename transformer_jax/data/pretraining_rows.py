"""Rows of text to pre-train on, before anything is hidden (Devlin et al. 2018, 3.1)."""

from typing import NamedTuple

import numpy as np

from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.documents import documents_of
from transformer_jax.data.marked_words import unmark
from transformer_jax.data.next_sentences import draw_pairs
from transformer_jax.data.row_layout import RowLayout
from transformer_jax.data.sentence_rows import sentence_rows
from transformer_jax.data.token_cache import TokenCache
from transformer_jax.data.tokenizer import SpecialIds


class PretrainingRows(NamedTuple):
    """Rows of sentences.

    Attributes:
      tokens: [rows, length] int32.
      segments: [rows, length] int32, numbers texts that do not see each other from 1; 0
        on padding.
      positions: [rows, length] int32, from 0 in each segment.
      token_types: [rows, length] int32: 1 in what may follow the rest, else 0.
      words: [rows, length] the number of each token's word in its row; None where words
        are not marked.
      is_next: [rows] int32: 1 where the second stretch follows the first, else 0.
      pair_weights: [rows] float32: 0 where that is not to be told.
    """

    tokens: np.ndarray
    segments: np.ndarray
    positions: np.ndarray
    token_types: np.ndarray
    words: np.ndarray | None
    is_next: np.ndarray
    pair_weights: np.ndarray


def rows_of_sentences(
    cache: TokenCache,
    planned: PlannedBatch,
    specials: SpecialIds,
    *,
    marks_words: bool,
) -> PretrainingRows:
    """Lay out each sentence alone, between the pieces that open and close it.

    Args:
      cache: of the sentences.
      planned: which of them, and in which rows: several may share one.
      specials: the pieces that are not text.
      marks_words: whether the cache's ids say where words begin.
    """
    ids = cache.gather(planned.pairs)[0]
    lengths = cache.lengths[0, planned.pairs]
    starts = np.cumsum(lengths) - lengths
    begins = None
    if marks_words:
        ids, begins = unmark(ids)
    shape = planned.shape.rows, planned.shape.target_length
    layout = RowLayout(lengths + 1, planned.pair_rows, shape)
    opened = np.insert(ids, starts, specials.bos)
    words = None
    if begins is not None:  # What opens and closes is a word of its own.
        begins = np.insert(begins, starts, True)
        words = np.cumsum(layout.place_tokens(begins, 1, 1), axis=1) - 1
    return PretrainingRows(
        tokens=layout.place_tokens(opened, specials.eos, specials.pad),
        segments=layout.place(layout.segments),
        positions=layout.place(layout.positions),
        token_types=np.zeros(shape, np.int32),
        words=words,
        is_next=np.zeros(shape[0], np.int32),
        pair_weights=np.zeros(shape[0], np.float32),
    )


def rows_of_pairs(
    rng: np.random.Generator,
    cache: TokenCache,
    planned: PlannedBatch,
    specials: SpecialIds,
    *,
    marks_words: bool,
) -> PretrainingRows:
    """Lay out two stretches a row, of which the second goes on in half of the rows.

    Args:
      rng: what to draw from.
      cache: of sentences in their order, and of the numbers of their documents.
      planned: which sentences open rows.
      specials: the pieces that are not text.
      marks_words: whether the cache's ids say where words begin.

    Raises:
      UserError: if the text is a single document.
    """
    shape = planned.shape.rows, planned.shape.target_length
    lengths = cache.lengths[0]
    pairs = draw_pairs(
        rng,
        planned.pairs.tolist(),
        lengths,
        documents_of(cache),
        room=shape[1] - 3,  # A piece opens the row, and two close its stretches.
    )
    stretches = [stretch for pair in pairs for stretch in (pair.first, pair.second)]
    ids = cache.gather(np.concatenate([np.array(stretch) for stretch in stretches]))[0]
    ends = np.cumsum([lengths[s.start : s.stop].sum() for s in stretches])
    begins = None
    if marks_words:
        ids, begins = unmark(ids)

    def by_row(values: np.ndarray) -> list[tuple[np.ndarray, ...]]:
        parts = np.split(values, ends[:-1])
        return list(zip(parts[::2], parts[1::2], strict=True))

    rows = sentence_rows(by_row(ids), shape, specials)
    words = None
    if begins is not None:  # What opens and closes is a word of its own.
        ones = SpecialIds(pad=1, bos=1, eos=1)
        marks = sentence_rows(by_row(begins), shape, ones).tokens
        words = np.cumsum(marks, axis=1) - 1
    is_next = np.zeros(shape[0], np.int32)
    is_next[: len(pairs)] = [pair.is_next for pair in pairs]
    pair_weights = np.zeros(shape[0], np.float32)
    pair_weights[: len(pairs)] = [pair.counts for pair in pairs]
    return PretrainingRows(
        tokens=rows.tokens,
        segments=rows.segments,
        positions=np.broadcast_to(np.arange(shape[1], dtype=np.int32), shape),
        token_types=rows.token_types,
        words=words,
        is_next=is_next,
        pair_weights=pair_weights,
    )
