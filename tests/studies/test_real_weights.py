"""The study of published weights: its texts."""

import pytest

from transformer_jax.errors import UserError
from transformer_jax.studies.real_weights import hide_prepositions

LINES = ["A man in red.", "Dogs on ice.", "In front.", "in on", "Boats in water."]


def test_one_of_two_words_is_hidden_and_is_the_label_equally_often():
    texts = hide_prepositions(LINES, 2, seed=0)
    assert texts[0] in ("A man ___ red.\tin", "Boats ___ water.\tin")
    assert texts[1] == "Dogs ___ ice.\ton"


def test_more_texts_begin_with_those_that_fewer_are():
    lines = [f"{noun} {word} it" for noun in "abcdef" for word in ("in", "on")]
    assert hide_prepositions(lines, 8, 1)[:4] == hide_prepositions(lines, 4, 1)
    assert hide_prepositions(lines, 8, 1) != hide_prepositions(lines, 8, 2)


def test_too_few_lines_are_an_error():
    with pytest.raises(UserError, match="5 lines make 2 texts .* 4 are wanted"):
        hide_prepositions(LINES, 4, seed=0)
