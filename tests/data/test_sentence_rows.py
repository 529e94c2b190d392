import itertools

import numpy as np

from transformer_jax.data.sentence_rows import cut_lengths, row_lengths, sentence_rows
from transformer_jax.data.tokenizer import SpecialIds

SPECIALS = SpecialIds(0, 1, 2)


def test_rows_worked_out_by_hand():
    texts = [[[11, 12], [21]], [[13], [22, 23, 24, 25, 26]]]
    rows = sentence_rows(texts, (3, 7), SPECIALS)
    assert rows.tokens.tolist() == [
        [1, 11, 12, 2, 21, 2, 0],
        [1, 13, 2, 22, 23, 24, 2],
        [0] * 7,
    ]
    assert rows.segments.tolist() == [[1] * 6 + [0], [1] * 7, [0] * 7]
    assert rows.token_types.tolist() == [
        [0, 0, 0, 0, 1, 1, 0],
        [0, 0, 0, 1, 1, 1, 1],
        [0] * 7,
    ]
    lengths = np.array([[2, 1], [1, 5]])
    assert row_lengths(lengths, 7).tolist() == [6, 7]
    (row,) = sentence_rows([[[11, 12, 13]]], (1, 4), SPECIALS).tokens.tolist()
    assert row == [1, 11, 12, 2]


def test_the_longer_sentence_loses_its_end_piece_by_piece():
    for first, second, longest in itertools.product(range(9), range(9), range(3, 16)):
        expected = [first, second]
        while sum(expected) > longest - 3:
            expected[expected[0] < expected[1] or expected[0] == 0] -= 1
        kept = cut_lengths([first, second], longest)
        assert sum(kept) == sum(expected)
        assert abs(kept[0] - expected[0]) <= 1  # Which of two equals goes first.
