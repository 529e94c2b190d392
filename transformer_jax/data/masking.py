"""Which tokens are hidden, and what stands there instead (Devlin et al. 2018, 3.1)."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class MaskingRule:
    """How tokens are hidden.

    Attributes:
      mask_id: the piece that stands for a hidden one.
      first_piece: pieces from here on are text, and may stand for another.
      vocab_size: number of pieces.
      rate: share of a row's tokens that are to be predicted.
      mask_share: share of these that are hidden.
      random_share: share of these in whose place another piece stands; the rest stay.
    """

    mask_id: int
    first_piece: int
    vocab_size: int
    rate: float
    mask_share: float
    random_share: float


@dataclasses.dataclass(frozen=True)
class MaskedRows:
    """Rows with hidden tokens.

    Attributes:
      tokens: [rows, length] int32, as they are seen.
      places: [rows, num_places] int32, which are to be predicted.
      truths: [rows, num_places] int32, what stood there.
      weights: [rows, num_places] float32, 0 where a row has fewer places to predict.
    """

    tokens: np.ndarray
    places: np.ndarray
    truths: np.ndarray
    weights: np.ndarray


def hide_tokens(
    rng: np.random.Generator,
    tokens: np.ndarray,
    is_text: np.ndarray,
    rule: MaskingRule,
    words: np.ndarray | None = None,
) -> MaskedRows:
    """Choose tokens to predict, and hide most of them.

    Args:
      rng: what to draw from; the same draws hide the same.
      tokens: [rows, length] int32.
      is_text: boolean [rows, length]; only there anything is chosen.
      rule: how many, and what stands in their places.
      words: [rows, length] the number of each token's word, below `length`, to choose
        whole words; None: every token by itself.

    Returns:
      The rows; each has `rate` of its text chosen, rounded, and at least one token. Of
      whole words there are as many as do not make it more, and at least one.
    """
    length = tokens.shape[1]
    num_places = num_masked(length, rule.rate)
    draws = rng.random(tokens.shape)
    if words is not None:
        draws = np.take_along_axis(draws, words, axis=1)
    order = np.argsort(np.where(is_text, draws, 1.0), axis=1, kind="stable")
    places = order[:, :num_places].astype(np.int32)
    num_text = is_text.sum(axis=1)
    num_chosen = np.maximum(np.rint(rule.rate * num_text), 1) * (num_text > 0)
    if words is not None:
        num_chosen = _at_ends(np.take_along_axis(words, order, axis=1), num_chosen)
    is_chosen = np.arange(num_places)[None] < num_chosen[:, None]
    truths = np.take_along_axis(tokens, places, axis=1)
    fate = rng.random(places.shape)
    others = rng.integers(rule.first_piece, rule.vocab_size, places.shape)
    seen = np.where(fate < rule.mask_share + rule.random_share, others, truths)
    seen = np.where(fate < rule.mask_share, rule.mask_id, seen)
    hidden = tokens.copy()
    np.put_along_axis(hidden, places, np.where(is_chosen, seen, truths), axis=1)
    return MaskedRows(hidden, places, truths, is_chosen.astype(np.float32))


def _at_ends(words: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Lower each row's count to the last end of a word, but not below the first's.

    Args:
      words: [rows, length] numbers of words, those of one side by side.
      counts: [rows] how many of a row are counted from its start.
    """
    ends = np.ones(words.shape, bool)
    ends[:, :-1] = words[:, 1:] != words[:, :-1]
    behind = np.where(ends, np.arange(1, words.shape[1] + 1), 0)
    first = np.argmax(ends, axis=1) + 1
    within = np.where(behind <= counts[:, None], behind, 0).max(axis=1)
    return np.where(counts > 0, np.maximum(within, first), 0)


def num_masked(length: int, rate: float) -> int:
    """Return how many places a row of `length` positions predicts at most."""
    return max(round(rate * length), 1)
