"""Sentences in a row, written out by hand."""

import numpy as np

from transformer_jax.models import segments

ROWS = np.array([[1, 1, 1, 2, 2, 0, 0], [1, 2, 2, 2, 2, 2, 2]])


def test_a_sentence_begins_and_ends_where_its_number_changes():
    np.testing.assert_array_equal(
        segments.is_first(ROWS), [[1, 0, 0, 1, 0, 1, 0], [1, 1, 0, 0, 0, 0, 0]]
    )
    np.testing.assert_array_equal(
        segments.is_last(ROWS), [[0, 0, 1, 0, 1, 0, 1], [1, 0, 0, 0, 0, 0, 1]]
    )


def test_each_position_finds_the_sentence_of_its_number_in_other_rows():
    targets = np.array([[1, 2, 2, 0], [1, 1, 2, 2]])
    np.testing.assert_array_equal(
        segments.first_index(targets, ROWS), [[0, 3, 3, 5], [0, 0, 1, 1]]
    )
    np.testing.assert_array_equal(
        segments.last_index(targets, ROWS), [[2, 4, 4, 6], [0, 0, 6, 6]]
    )


def test_a_shift_stays_within_the_sentence():
    x = np.arange(1, 15).reshape(2, 7)
    np.testing.assert_array_equal(
        segments.shifted(x, ROWS, 1), [[0, 1, 2, 0, 4, 0, 0], [0, 0, 9, 10, 11, 12, 13]]
    )
    np.testing.assert_array_equal(
        segments.shifted(x, ROWS, -2),
        [[3, 0, 0, 0, 0, 0, 0], [0, 11, 12, 13, 14, 0, 0]],
    )
    np.testing.assert_array_equal(segments.shifted(x, ROWS, 0), x)
    assert not segments.shifted(x, ROWS, 7).any()
    assert not segments.shifted(x, ROWS, -9).any()
    deep = np.stack([x, -x], axis=-1)
    np.testing.assert_array_equal(
        segments.shifted(deep, ROWS, 1)[..., 1], -segments.shifted(x, ROWS, 1)
    )


def test_vectors_are_taken_row_by_row():
    x = np.arange(2 * 3 * 5).reshape(2, 3, 5)
    index = np.array([[2, 0, 0, 1], [1, 1, 2, 0]])
    expected = np.stack([row[some] for row, some in zip(x, index, strict=True)])
    np.testing.assert_array_equal(segments.take(x, index), expected)
