"""One or two sentences a row, as BERT reads them (Devlin et al. 2018, Section 3)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from transformer_jax.data.tokenizer import SpecialIds


class SentenceRows(NamedTuple):
    """Rows of sentences: a piece opens the row, and one closes each sentence.

    Attributes:
      tokens: [rows, length] int32.
      segments: [rows, length] int32, 1 on text and 0 on padding.
      token_types: [rows, length] int32, the number of the sentence, from 0.
    """

    tokens: np.ndarray
    segments: np.ndarray
    token_types: np.ndarray


def row_lengths(lengths: np.ndarray, longest: int) -> np.ndarray:
    """Return how long the rows of texts are.

    Args:
      lengths: [sentences, texts] pieces of each.
      longest: of a row.

    Returns:
      [texts], the piece that opens a row and those that close a sentence counted.
    """
    return np.minimum(lengths.sum(axis=0) + len(lengths) + 1, longest)


def cut_lengths(lengths: Sequence[int], longest: int) -> list[int]:
    """Return how much of each sentence a row takes: the longer loses its end first.

    Args:
      lengths: pieces of one sentence or two.
      longest: of a row, what opens and closes counted.
    """
    room, total = longest - len(lengths) - 1, sum(lengths)
    return [
        max(min(length, max((room + 1 - number) // 2, room - (total - length))), 0)
        for number, length in enumerate(lengths)
    ]


def sentence_rows(
    texts: Sequence[Sequence[Sequence[int] | np.ndarray]],
    shape: tuple[int, int],
    specials: SpecialIds,
) -> SentenceRows:
    """Lay texts out, one a row.

    Args:
      texts: the ids of each text's sentences; what no room is left for is cut off.
      shape: rows, which may be more than the texts, and their length.
      specials: what opens, closes and pads.
    """
    tokens = np.full(shape, specials.pad, np.int32)
    segments, token_types = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for row, sentences in enumerate(texts):
        ids, types = [specials.bos], [0]
        kept = cut_lengths([len(sentence) for sentence in sentences], shape[1])
        for number, (sentence, length) in enumerate(zip(sentences, kept, strict=True)):
            ids += [*sentence[:length], specials.eos]
            types += [number] * (length + 1)
        tokens[row, : len(ids)] = ids
        segments[row, : len(ids)] = 1
        token_types[row, : len(ids)] = types
    return SentenceRows(tokens, segments, token_types)
