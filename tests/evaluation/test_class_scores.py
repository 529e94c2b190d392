import pytest

from transformer_jax.evaluation.class_scores import score_classes


def test_two_classes_worked_out_by_hand():
    # Of class 1: 3 found right, 1 missed, 2 wrongly given; of class 0, 4 found right.
    truths = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    guesses = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]
    scores = score_classes(guesses, truths, 2)
    assert scores.accuracy == pytest.approx(7 / 10)
    # Precision 3/5, recall 3/4.
    assert scores.f1 == pytest.approx(2 * 3 / (2 * 3 + 2 + 1))
    # (3*4 - 2*1) / sqrt(5 * 4 * 6 * 5).
    assert scores.matthews == pytest.approx(10 / 600**0.5)


def test_three_classes_worked_out_by_hand():
    # The third class does not occur, and does not count.
    scores = score_classes([0, 0, 1, 1], [0, 1, 1, 1], 3)
    assert scores.accuracy == 0.75
    assert scores.f1 == pytest.approx((2 / 3 + 4 / 5) / 2)
    # (4 * 3 - (1*2 + 3*2)) / sqrt((16 - 1 - 9) * (16 - 4 - 4)).
    assert scores.matthews == pytest.approx(4 / 48**0.5)


def test_a_constant_guess_does_not_correlate():
    scores = score_classes([1, 1, 1], [0, 1, 1], 2)
    assert (scores.accuracy, scores.matthews) == (pytest.approx(2 / 3), 0.0)
    assert score_classes([1, 0], [1, 0], 2).matthews == pytest.approx(1.0)
    assert score_classes([0, 1], [1, 0], 2).matthews == pytest.approx(-1.0)


def test_scores_are_printed_in_percent():
    assert "accuracy, %" in score_classes([1, 0], [1, 1], 2).table()
    assert "50.00" in score_classes([1, 0], [1, 1], 2).table()
