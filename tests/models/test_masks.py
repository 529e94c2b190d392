import numpy as np

from transformer_jax.models.masks import Visibility, causal_mask, padding_mask


def _table(mask):
    """Write the mask of a single row down with x for True."""
    return [
        "".join("x" if may else "." for may in row) for row in np.asarray(mask)[0, 0]
    ]


def test_padding_mask_hides_keys_of_segment_0():
    mask = padding_mask(np.array([[1, 1, 0], [2, 0, 1]]))
    assert mask.shape == (2, 1, 1, 3) and mask.dtype == bool
    np.testing.assert_array_equal(mask[:, 0, 0], [[1, 1, 0], [1, 0, 1]])


def test_causal_mask_shows_what_stands_before():
    assert causal_mask(3).shape == (1, 1, 3, 3)
    assert _table(causal_mask(3)) == ["x..", "xx.", "xxx"]


def test_packed_sentences_do_not_see_each_other():
    query_segments = np.array([[1, 1, 2, 0]])
    key_segments = np.array([[1, 2, 2, 2, 0]])
    assert _table(Visibility(query_segments, key_segments).mask()) == [
        "x....",
        "x....",
        ".xxx.",
        ".....",
    ]


def test_causality_acts_inside_each_sentence():
    segments = np.array([[1, 1, 2, 2, 2, 0]])
    assert _table(Visibility(segments, segments, is_causal=True).mask()) == [
        "x.....",
        "xx....",
        "..x...",
        "..xx..",
        "..xxx.",
        "......",
    ]


def test_a_reach_shows_a_band_inside_each_sentence():
    segments = np.array([[1, 1, 1, 1, 2, 2, 0]])
    assert _table(Visibility(segments, segments, reach=1).mask()) == [
        "xx.....",
        "xxx....",
        ".xxx...",
        "..xx...",
        "....xx.",
        "....xx.",
        ".......",
    ]
    alone = Visibility(segments, segments, reach=0).mask()
    assert _table(alone)[3:5] == ["...x...", "....x.."]


def test_causality_takes_the_later_half_of_a_band_away():
    segments = np.array([[1, 1, 1, 1, 2, 2, 0]])
    assert _table(Visibility(segments, segments, is_causal=True, reach=2).mask()) == [
        "x......",
        "xx.....",
        "xxx....",
        ".xxx...",
        "....x..",
        "....xx.",
        ".......",
    ]


def test_a_row_of_padding_may_look_nowhere():
    nothing = np.zeros((1, 3), int)
    assert not np.any(Visibility(nothing, nothing, is_causal=True).mask())
    assert not np.any(Visibility(np.ones((1, 2), int), nothing).mask())
