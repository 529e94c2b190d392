import numpy as np

from transformer_jax.data.masking import MaskingRule, hide_tokens

RULE = MaskingRule(4, 10, 1000, rate=0.15, mask_share=0.8, random_share=0.1)


def _text(num_rows, length):
    rng = np.random.default_rng(0)
    tokens = rng.integers(10, 1000, (num_rows, length), dtype=np.int32)
    tokens[:, 0], tokens[:, -1] = 1, 2
    return tokens, (tokens != 1) & (tokens != 2)


def test_rows_of_several_lengths_worked_out_by_hand():
    # 40 places: round(0.15 * 40) = 6 predictions at most. Of 38, 20, 3 and 0 tokens:
    # round(5.7) = 6, 3, at least 1, none.
    tokens = np.arange(100, 260, dtype=np.int32).reshape(4, 40)
    is_text = np.zeros((4, 40), bool)
    for row, number in enumerate((38, 20, 3, 0)):
        is_text[row, 1 : number + 1] = True
    rows = hide_tokens(np.random.default_rng(1), tokens, is_text, RULE)
    assert rows.places.shape == (4, 6)
    assert rows.weights.sum(axis=1).tolist() == [6, 3, 1, 0]
    for row in range(4):
        chosen = rows.places[row][rows.weights[row] > 0]
        assert len(set(chosen)) == len(chosen)
        assert is_text[row, chosen].all()
        changed = np.flatnonzero(rows.tokens[row] != tokens[row])
        assert set(changed) <= set(chosen)
    truths = np.take_along_axis(tokens, rows.places, axis=1)
    np.testing.assert_array_equal(rows.truths, truths)


def test_the_shares_are_the_papers():
    tokens, is_text = _text(4000, 62)
    rows = hide_tokens(np.random.default_rng(2), tokens, is_text, RULE)
    # 9 of 60 in every row.
    assert np.all(rows.weights.sum(axis=1) == 9)
    seen = np.take_along_axis(rows.tokens, rows.places, axis=1)
    num = seen.size  # 36 000: a deviation of a share of 0.1 is 0.0016.
    is_hidden, is_kept = seen == 4, seen == rows.truths
    assert abs(is_hidden.sum() / num - 0.8) < 0.01
    # One random piece in 990 is the truth again.
    assert abs(is_kept.sum() / num - 0.1) < 0.01
    others = seen[~is_hidden & ~is_kept]
    assert others.min() >= 10 and others.max() < 1000
    assert len(np.unique(others)) > 900
    # Each place is chosen as often as any other: 600 of 4000, give or take 23.
    counts = np.bincount(rows.places.ravel(), minlength=62)
    assert counts[0] == counts[61] == 0
    assert np.all(np.abs(counts[1:61] - 600) < 120)


def test_the_same_draws_hide_the_same_and_others_do_not():
    tokens, is_text = _text(8, 40)
    first, again, other = (
        hide_tokens(np.random.default_rng(seed), tokens, is_text, RULE)
        for seed in ((0, 5), (0, 5), (0, 6))
    )
    np.testing.assert_array_equal(first.tokens, again.tokens)
    assert np.any(first.places != other.places)


def test_shares_of_zero_and_one_leave_nothing_to_chance():
    tokens, is_text = _text(5, 42)
    everything = MaskingRule(4, 10, 1000, rate=0.5, mask_share=1.0, random_share=0.0)
    rows = hide_tokens(np.random.default_rng(0), tokens, is_text, everything)
    assert np.all((rows.tokens == 4).sum(axis=1) == 20)
    nothing = MaskingRule(4, 10, 1000, rate=0.5, mask_share=0.0, random_share=0.0)
    rows = hide_tokens(np.random.default_rng(0), tokens, is_text, nothing)
    np.testing.assert_array_equal(rows.tokens, tokens)


def test_whole_words_are_chosen_as_worked_out_by_hand():
    # 40 tokens of text, so that 6 may be chosen: words of 4 and of 1 pieces in turn.
    tokens = np.arange(100, 140, dtype=np.int32)[None].repeat(200, axis=0)
    words = np.repeat(np.arange(16), [4, 1] * 8)[None].repeat(200, axis=0)
    rows = hide_tokens(
        np.random.default_rng(0), tokens, np.ones(tokens.shape, bool), RULE, words
    )
    for row in range(200):
        chosen = set(rows.places[row][rows.weights[row] > 0].tolist())
        assert 1 <= len(chosen) <= 6
        for word in range(16):
            of_word = set(np.flatnonzero(words[row] == word).tolist())
            assert not chosen & of_word or of_word <= chosen
    # Behind 4 and 1 there is room for 1, behind 1 and 1 for 4, behind 4 for no other 4.
    counts = set(rows.weights.sum(axis=1).astype(int).tolist())
    assert counts >= {4, 5, 6}


def test_a_word_longer_than_all_places_is_chosen_in_part():
    tokens = np.arange(100, 120, dtype=np.int32)[None]
    words, is_text = np.zeros((1, 20), np.int32), np.ones((1, 20), bool)
    rows = hide_tokens(np.random.default_rng(0), tokens, is_text, RULE, words)
    assert rows.weights.tolist() == [[1.0, 1.0, 1.0]]
    assert rows.places.tolist() == [[0, 1, 2]]
