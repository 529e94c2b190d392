"""Two stretches of text a row: the second goes on, or is from another document.

Devlin et al. 2018, Section 3.1 (task 2) and Appendix A.2.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from transformer_jax.data.documents import Documents
from transformer_jax.errors import UserError


class TextPair(NamedTuple):
    """The sentences of a row.

    Attributes:
      first: those of the first stretch.
      second: those of the second.
      is_next: whether the second follows the first, in half of all pairs.
      counts: whether that says anything; not of a document of one sentence, which
        nothing follows.
    """

    first: range
    second: range
    is_next: bool
    counts: bool


def draw_pairs(
    rng: np.random.Generator,
    openers: Sequence[int],
    lengths: np.ndarray,
    documents: Documents,
    room: int,
) -> list[TextPair]:
    """Draw what stands in the rows that these sentences open.

    The first stretch is as many whole sentences as half of a row holds, and the second
    as many as the rest does; each is at least one, whatever its length. A document's
    last sentence opens nothing that could go on: the one before it does.

    Args:
      rng: what to draw from; the same draws make the same rows.
      openers: a sentence for each row.
      lengths: [sentences] pieces of each sentence of the text.
      documents: of the text.
      room: pieces that a row has for text.

    Raises:
      UserError: if there is but one document, or none of two sentences.
    """
    if len(documents) < 2 or len(documents) == documents.bounds[-1]:
        raise UserError(
            "The next sentence cannot be predicted: the text is one document, so that "
            "all sentences follow, or each sentence is one, so that none does. Put a "
            "blank line between documents of several sentences, a sentence a line, or "
            "set config.task.next_sentence=False."
        )
    pairs = []
    for opener in openers:
        first_of_all, end = documents.around(opener)
        counts = end - first_of_all > 1
        opener = min(opener, end - 2) if counts else opener
        first = _whole_sentences(lengths, opener, end - counts, room // 2)
        is_next = bool(rng.integers(2)) and counts
        start = first.stop if is_next else _elsewhere(rng, documents, opener)
        rest = room - int(lengths[first.start : first.stop].sum())
        stop = documents.around(start)[1]
        second = _whole_sentences(lengths, start, stop, rest)
        pairs.append(TextPair(first, second, is_next, counts))
    return pairs


def _whole_sentences(lengths: np.ndarray, start: int, stop: int, room: int) -> range:
    """Return as many sentences from `start` on as there is room for, at least one."""
    # A sentence has a piece at least.
    ends = np.cumsum(lengths[start : min(stop, start + max(room, 1))])
    number = int(np.searchsorted(ends, room, side="right"))
    return range(start, start + max(number, 1))


def _elsewhere(rng: np.random.Generator, documents: Documents, sentence: int) -> int:
    """Draw a sentence of another document than this one's."""
    first, stop = documents.around(sentence)
    drawn = int(rng.integers(int(documents.bounds[-1]) - (stop - first)))
    return drawn if drawn < first else drawn + stop - first
