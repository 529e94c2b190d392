import pytest

from transformer_jax.decoding.split import split_line


def count_words_and_marks(text):
    """Three letters of a word are one token, as in a tokenizer that knows few words."""
    return sum(-(-len(word) // 3) for word in text.split())


@pytest.mark.parametrize(
    ("line", "max_tokens", "pieces"),
    [
        ("", 3, []),
        (" \t ", 3, []),
        ("one two", 3, ["one two"]),
        # after the last sentence that fits
        ("a. b c. d e f", 5, ["a. b c.", "d e f"]),
        ('"a b!" c d e f', 4, ['"a b!"', "c d e f"]),
        # a point inside a word ends no sentence
        ("a b3.5 c d", 3, ["a b3.5", "c d"]),
        # between words
        ("a b c d e", 2, ["a b", "c d", "e"]),
        # anywhere
        ("abcdefghijk", 2, ["abcdef", "ghijk"]),
        ("a bcdefghijk", 2, ["a", "bcdefg", "hijk"]),
        # full-width marks need no space
        ("甲乙。丙丁戊己", 2, ["甲乙。", "丙丁戊己"]),
    ],
)
def test_pieces_by_hand(line, max_tokens, pieces):
    assert split_line(line, count_words_and_marks, max_tokens) == pieces


def test_nothing_but_spaces_is_lost_and_every_piece_fits():
    line = "".join(f"w{i}{'.' * (i % 7 == 0)}{'  ' * (i % 3)} " for i in range(999))
    for max_tokens in (1, 2, 17):
        pieces = split_line(line, count_words_and_marks, max_tokens)
        assert "".join("".join(pieces).split()) == "".join(line.split())
        assert all(count_words_and_marks(piece) <= max_tokens for piece in pieces)


def test_a_character_longer_than_the_limit_stands_alone():
    assert split_line("abc", lambda text: 4 * len(text), 2) == ["a", "b", "c"]


def test_work_is_linear_in_the_line():
    lengths = []

    def count(text):
        lengths.append(len(text))
        return count_words_and_marks(text)

    split_line("word " * 20_000, count, 100)
    assert max(lengths) < 2_000
