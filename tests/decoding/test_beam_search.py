import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.decoding.table_model import (
    BOS,
    EOS,
    PAD,
    VOCAB_SIZE,
    WIDTH,
    Cache,
    RandomModel,
    exhaustive_search,
    no_growth,
    settings,
)
from transformer_jax.decoding.beam_search import beam_search
from transformer_jax.decoding.greedy import greedy_search


def run(model, sentences, max_lengths, **fields):
    chosen = settings(**fields)
    cache = model.cache(chosen.beam_size, sentences)
    return beam_search(model, cache, np.asarray(max_lengths), chosen, no_growth)


def outputs(result, row):
    """The tokens of a row's hypotheses, cut at their lengths."""
    pairs = zip(result.tokens[row], result.lengths[row], strict=True)
    return [tokens[:length].tolist() for tokens, length in pairs if length > 0]


class Table:
    """Log-probabilities looked up by the previous token and the step."""

    def __init__(self, rows):
        """`rows`: {(step or None, previous token): {token: probability}}."""
        self.logits = np.full((20, WIDTH, WIDTH), -np.inf, np.float32)
        for (step, previous), following in rows.items():
            for token, probability in following.items():
                steps = slice(None) if step is None else step
                self.logits[steps, previous, token] = np.log(probability)

    def cache(self, beam, batch=1):
        return Cache(
            sentence=jnp.zeros((batch, 1)),
            hypothesis=jnp.zeros((batch, beam), jnp.int32),
        )

    def __call__(self, tokens, cache):
        logits = jnp.asarray(self.logits)[cache.hypothesis, tokens]
        return logits, cache.replace(hypothesis=cache.hypothesis + 1)


def run_table(rows, max_length, **fields):
    table, chosen = Table(rows), settings(**fields)
    cache = table.cache(chosen.beam_size)
    return beam_search(table, cache, np.array([max_length]), chosen, no_growth)


@pytest.mark.parametrize("kind", ["gnmt", "length"])
@pytest.mark.parametrize("alpha", [-0.5, 0.0, 0.6, 1.0, 2.0])
def test_full_width_beam_equals_exhaustive_search(alpha, kind):
    max_lengths = [4, 3, 4, 1, 2]
    model = RandomModel(seed=3)
    result = run(
        model, range(5), max_lengths,
        beam_size=40, num_best=5, alpha=alpha, length_penalty=kind,
    )  # fmt: skip
    for sentence, max_length in enumerate(max_lengths):
        expected = exhaustive_search(model, sentence, max_length, alpha, kind)[:5]
        found = outputs(result, sentence)
        assert found == [tokens for _, _, tokens in expected]
        count = len(expected)
        np.testing.assert_allclose(
            result.scores[sentence, :count], [e[0] for e in expected], atol=1e-5
        )
        np.testing.assert_allclose(
            result.log_probs[sentence, :count], [e[1] for e in expected], atol=1e-5
        )


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 0.6, 2.0])
def test_early_stop_never_loses_the_best(alpha):
    """With a beam that prunes nothing, one best and all must agree on the first."""
    model = RandomModel(seed=5, scale=1.0)
    one = run(model, range(20, 50), [4] * 30, beam_size=40, num_best=1, alpha=alpha)
    for row, sentence in enumerate(range(20, 50)):
        best = exhaustive_search(model, sentence, 4, alpha, "gnmt")[0]
        assert outputs(one, row) == [best[2]]


# The end at once, or a little less probable word 3 and then, for certain, word 4 and
# the end: plain probabilities prefer the first, a length penalty the second.
_LATE_WINNER = {
    (0, BOS): {EOS: 0.52, 3: 0.48},
    (1, 3): {4: 1.0},
    (2, 4): {EOS: 1.0},
}


def test_a_longer_hypothesis_may_win_after_the_first_has_finished():
    result = run_table(_LATE_WINNER, 9, beam_size=2, alpha=1.0)
    assert outputs(result, 0) == [[3, 4, EOS]]
    np.testing.assert_allclose(result.log_probs, [[np.log(0.48)]], atol=1e-6)
    np.testing.assert_allclose(result.scores, [[np.log(0.48) * 6 / 8]], atol=1e-6)


def test_the_end_mark_counts_in_the_length_penalty():
    # Two words and the end are three: ln 0.5 / ((5 + 3) / 6)^0.6 = -0.693147 / 1.18840.
    rows = {(0, BOS): {3: 0.5, 4: 0.5}, (1, 3): {4: 1.0}, (2, 4): {EOS: 1.0}}
    result = run_table(rows, 9, beam_size=1, alpha=0.6)
    assert outputs(result, 0) == [[3, 4, EOS]]
    np.testing.assert_allclose(result.scores, [[-0.583261]], atol=1e-5)


def test_search_stops_once_nothing_open_can_win():
    """With blocks of one step, the width of the result is the number of steps."""
    stopped = run_table(_LATE_WINNER, 9, beam_size=2, alpha=0.0, block_size=1)
    assert outputs(stopped, 0) == [[EOS]]
    assert stopped.tokens.shape[-1] == 1
    # log(0.48) / lp(9) beats log(0.52) / lp(1), so it must go on to the second's end.
    went_on = run_table(_LATE_WINNER, 9, beam_size=2, alpha=1.0, block_size=1)
    assert went_on.tokens.shape[-1] == 3
    # Where only two tokens are allowed, lp(2) is the most there is to gain.
    short = run_table(
        {(0, BOS): {EOS: 0.52, 3: 0.48}, (1, 3): {4: 1.0}}, 2, beam_size=2
    )
    assert outputs(short, 0) == [[EOS]]


def test_a_negative_alpha_prefers_short_ones_and_still_sees_a_later_winner():
    # alpha -1: score = log P * (5 + L) / 6. Ends at once with 0.1, or later with 0.9.
    rows = {(0, BOS): {EOS: 0.1, 3: 0.9}, (1, 3): {EOS: 1.0}}
    result = run_table(rows, 9, beam_size=2, alpha=-1.0, num_best=2)
    assert outputs(result, 0) == [[3, EOS], [EOS]]
    expected = [[np.log(0.9) * 7 / 6, np.log(0.1)]]
    np.testing.assert_allclose(result.scores, expected, atol=1e-6)


def test_finished_hypotheses_do_not_go_on():
    """After EOS the table would give certain words; none may be appended."""
    rows = {
        (0, BOS): {EOS: 0.5, 3: 0.5},
        (None, EOS): {3: 1.0},
        (1, 3): {EOS: 0.5, 3: 0.5},
        (2, 3): {EOS: 1.0},
    }
    result = run_table(rows, 9, beam_size=3, num_best=3, alpha=0.0)
    assert outputs(result, 0) == [[EOS], [3, EOS], [3, 3, EOS]]
    assert result.tokens[0, 0, 1:].tolist() == [PAD] * 7


def test_each_sentence_has_its_own_length_limit():
    model = RandomModel(seed=1, eos_bias=-30.0)  # never ends by itself
    result = run(model, [0, 1, 2, 3], [5, 1, 0, 11], beam_size=3, block_size=4)
    assert result.lengths.tolist() == [[5], [1], [0], [11]]
    assert result.scores[2, 0] == -np.inf  # a filler row has no output
    for row in (0, 1, 3):
        tokens = outputs(result, row)[0]
        assert tokens[-1] == EOS and EOS not in tokens[:-1]
        np.testing.assert_allclose(
            result.log_probs[row, 0], model.log_prob(row, tokens), rtol=1e-5
        )


def test_something_comes_out_though_the_model_excludes_the_end():
    result = run_table({(None, BOS): {3: 1.0}, (None, 3): {3: 1.0}}, 4, beam_size=2)
    assert outputs(result, 0) == [[3, 3, 3, EOS]]
    assert np.isfinite(result.scores).all()


def test_more_beams_than_words_yield_only_real_hypotheses():
    rows = {(0, BOS): {3: 1.0}, (1, 3): {EOS: 0.75, 4: 0.25}, (2, 4): {EOS: 1.0}}
    result = run_table(rows, 9, beam_size=17, num_best=7, alpha=0.0)
    assert outputs(result, 0) == [[3, EOS], [3, 4, EOS]]
    assert result.lengths[0].tolist() == [2, 3, 0, 0, 0, 0, 0]
    assert (result.scores[0, 2:] == -np.inf).all()
    assert (result.tokens[0, 2:] == PAD).all()


@pytest.mark.parametrize("min_length", [1, 2, 3])
def test_no_hypothesis_is_shorter_than_the_least_length_where_the_limit_has_room(
    min_length,
):
    max_lengths = [4, 3, 4, 1, 2]
    model = RandomModel(seed=3, eos_bias=3.0)  # would rather end at once
    result = run(
        model, range(5), max_lengths, beam_size=40, num_best=5, min_length=min_length
    )
    for sentence, max_length in enumerate(max_lengths):
        expected = exhaustive_search(
            model, sentence, max_length, 0.6, "gnmt", min_length
        )[:5]
        assert outputs(result, sentence) == [tokens for _, _, tokens in expected]
        scores = [score for score, _, _ in expected]
        found = result.scores[sentence, : len(scores)]
        np.testing.assert_allclose(found, scores, atol=1e-5)


@pytest.mark.parametrize("alpha", [-0.5, 0.6])
def test_n_best_is_sorted_and_distinct(alpha):
    model = RandomModel(seed=7, scale=1.0)
    result = run(model, range(11), [9] * 11, beam_size=5, num_best=5, alpha=alpha)
    assert (np.diff(result.scores, axis=1) <= 0).all()
    for row in range(11):
        found = outputs(result, row)
        assert len(found) == len({tuple(tokens) for tokens in found}) == 5
        for rank, tokens in enumerate(found):
            log_prob = model.log_prob(row, tokens)
            np.testing.assert_allclose(result.log_probs[row, rank], log_prob, atol=1e-4)


@pytest.mark.parametrize("min_length", [0, 2])
@pytest.mark.parametrize("alpha", [-1.0, 0.6])
def test_beam_of_one_equals_greedy_search(alpha, min_length):
    model, max_lengths = RandomModel(seed=11, scale=1.0), [3, 8, 1, 0, 7] * 6
    chosen = settings(beam_size=1, alpha=alpha, min_length=min_length)
    cache = model.cache(1, range(30))
    beam = beam_search(model, cache, max_lengths, chosen, no_growth)
    greedy = greedy_search(model, cache, max_lengths, chosen, no_growth)
    np.testing.assert_array_equal(beam.tokens, greedy.tokens)
    np.testing.assert_array_equal(beam.lengths, greedy.lengths)
    np.testing.assert_allclose(beam.scores, greedy.scores, atol=1e-5)
    np.testing.assert_allclose(beam.log_probs, greedy.log_probs, atol=1e-5)


def test_greedy_search_takes_the_most_probable_token_each_time():
    rows = {(0, BOS): {3: 0.6, 4: 0.4}, (1, 3): {EOS: 0.4, 5: 0.3, 4: 0.3}}
    table = Table(rows)
    chosen = settings(beam_size=1, alpha=0.0)
    result = greedy_search(table, table.cache(1), np.array([9]), chosen, no_growth)
    assert outputs(result, 0) == [[3, EOS]]
    np.testing.assert_allclose(result.log_probs, [[np.log(0.24)]], atol=1e-6)
    with pytest.raises(ValueError, match="beam_size=2"):
        greedy_search(table, table.cache(2), [9], settings(beam_size=2), no_growth)


@pytest.mark.parametrize("search", [beam_search, greedy_search])
def test_a_sentence_does_not_depend_on_its_neighbours(search):
    model = RandomModel(seed=13, scale=1.0)
    chosen = settings(beam_size=1 if search is greedy_search else 3, block_size=4)
    limits = np.array([4, 2, 0, 3, 7])
    together = search(
        model, model.cache(chosen.beam_size, range(5)), limits, chosen, no_growth
    )
    for row in (0, 3, 4):
        cache = model.cache(chosen.beam_size, [row])
        alone = search(model, cache, limits[[row]], chosen, no_growth)
        assert outputs(alone, 0) == outputs(together, row)
        np.testing.assert_allclose(alone.scores[0], together.scores[row], atol=1e-5)


def test_blocks_of_any_size_give_the_same_result():
    model, limits = RandomModel(seed=17, scale=1.0, eos_bias=-5.0), [10, 2, 5, 13]
    fields = {"beam_size": 3, "num_best": 2}
    whole = run(model, range(4), limits, block_size=13, **fields)
    parts = run(model, range(4), limits, block_size=5, **fields)
    assert parts.tokens.shape == (4, 2, 15) and parts.lengths.max() > 10
    for row in range(4):
        assert outputs(parts, row) == outputs(whole, row)
    np.testing.assert_allclose(parts.log_probs, whole.log_probs, atol=1e-6)


@pytest.mark.parametrize("search", [beam_search, greedy_search])
def test_sentences_that_are_done_are_left_behind(search):
    """Of 64 rows 24 go on after 3 tokens and 4 after 6, in the middle of a block."""
    model, rows = RandomModel(seed=29, eos_bias=-30.0), []

    def step(tokens, cache):
        rows.append(tokens.shape[0])
        return model(tokens, cache)

    limits = np.array([3, 2, 6, 1, 6, 3, 0, 6] * 7 + [3, 3, 9, 13, 9, 3, 3, 11])
    beam = 1 if search is greedy_search else 3
    cache = model.cache(beam, range(64))
    parts = search(
        step, cache, limits, settings(beam_size=beam, block_size=8), no_growth
    )
    assert set(rows) == {64, 32, 16}
    # Of eight rows none leaves early.
    chosen = settings(beam_size=beam, block_size=13)
    for first in range(0, 64, 8):
        cache = model.cache(beam, range(first, first + 8))
        whole = search(model, cache, limits[first : first + 8], chosen, no_growth)
        for row in range(8):
            assert outputs(parts, first + row) == outputs(whole, row)
        scores = parts.scores[first : first + 8]
        np.testing.assert_allclose(scores, whole.scores, atol=1e-5)
    assert parts.lengths[:, 0].tolist() == limits.tolist()


def test_padding_begin_and_spare_rows_are_never_predicted():
    model = RandomModel(seed=19)
    model.bias[[PAD, BOS, VOCAB_SIZE, VOCAB_SIZE + 1]] = 50.0
    for search, beam in ((beam_search, 5), (greedy_search, 1)):
        chosen = settings(beam_size=beam, num_best=beam, alpha=1.0)
        cache = model.cache(beam, range(3))
        result = search(model, cache, [6, 6, 6], chosen, no_growth)
        for row in range(3):
            for tokens in outputs(result, row):
                assert set(tokens) <= {EOS, 3, 4, 5}
        # Spare rows have no share in the sum, pad and BOS have: they are vocabulary.
        best = outputs(result, 0)[0]
        np.testing.assert_allclose(
            result.log_probs[0, 0], model.log_prob(0, best), rtol=1e-5
        )


def test_a_diverged_model_yields_nothing_rather_than_an_endless_search():
    def diverged(tokens, cache):
        return jnp.full((*tokens.shape, WIDTH), jnp.nan), cache

    cache = RandomModel().cache(2, range(3))
    result = beam_search(diverged, cache, [9] * 3, settings(beam_size=2), no_growth)
    assert (result.lengths == 0).all() and (result.tokens == PAD).all()
    cache = RandomModel().cache(1, range(3))
    result = greedy_search(diverged, cache, [9] * 3, settings(beam_size=1), no_growth)
    assert (result.lengths == 0).all() and (result.tokens == PAD).all()


def test_scores_are_float32_under_bfloat16_logits():
    model = RandomModel(seed=23)

    def half(tokens, cache):
        logits, cache = model(tokens, cache)
        return logits.astype(jnp.bfloat16), cache

    cache = model.cache(2, [0])
    result = beam_search(half, cache, [6], settings(beam_size=2), no_growth)
    assert result.scores.dtype == result.log_probs.dtype == np.float32


def test_new_parameters_do_not_compile_the_search_again():
    traces = []

    def step(bias, tokens, cache):
        traces.append(1)
        logits, cache = RandomModel()(tokens, cache)
        return logits + bias[None, None, :], cache

    chosen, cache = settings(beam_size=2), RandomModel().cache(2, range(3))
    counts, lengths = [], []
    for bias in (np.zeros(WIDTH), -9 * np.eye(WIDTH)[EOS], 99 * np.eye(WIDTH)[EOS]):
        step_fn = jax.tree_util.Partial(step, jnp.asarray(bias, jnp.float32))
        result = beam_search(step_fn, cache, [6] * 3, chosen, no_growth)
        counts.append(len(traces))
        lengths.append(result.lengths.tolist())
    assert counts[0] == counts[1] == counts[2]
    assert lengths[1:] == [[[6]] * 3, [[1]] * 3]


@pytest.mark.parametrize(
    "fields",
    [{"beam_size": 0}, {"beam_size": 2, "num_best": 3}, {"block_size": 0},
     {"length_penalty": "none"}],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(fields):
    with pytest.raises(ValueError, match="expected"):
        settings(**fields)
