import numpy as np
import pytest

from tests.data.lengths import COMMON_CORPORA, random_lengths
from transformer_jax.data.packed_plan import plan_packed, row_bounds


def _like_wmt(count):
    """Lengths as on WMT14: about 30 pieces, a long tail, targets a little longer."""
    rng = np.random.default_rng(0)
    source = np.rint(rng.lognormal(np.log(24.5), 0.62, count))
    spread = 0.12 + 0.3 / np.sqrt(source)
    target = np.rint(source * np.exp(0.06 + spread * rng.standard_normal(count)))
    return source.clip(1, 255).astype(np.int32), target.clip(1, 255).astype(np.int32)


CORPORA = COMMON_CORPORA | {
    "one row and a pair": (np.full(7, 9), np.full(7, 9)),
    "empty sources": (np.zeros(200, int), random_lengths(200)[1]),
    "long texts": (20 * random_lengths(501)[0], 21 * random_lengths(501)[0]),
}


def _plan(source, target, seed=0, **settings):
    settings = {
        "tokens_per_batch": 512,
        "packed_length": 48,
        "row_multiple": 8,
    } | settings
    return plan_packed(source, target, seed=seed, **settings)


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("tokens_per_batch", [64, 512, 4096])
def test_every_epoch_holds_every_pair_exactly_once_and_no_row_overflows(
    corpus, tokens_per_batch
):
    source, target = CORPORA[corpus]
    plan = _plan(source, target, tokens_per_batch=tokens_per_batch)
    for epoch in range(3):
        seen = []
        for place in range(plan.batches_per_epoch):
            batch = plan.batch(epoch * plan.batches_per_epoch + place)
            rows, *bound = batch.shape
            assert batch.shape in plan.shapes
            assert rows % 8 == 0
            assert rows * max(bound) <= tokens_per_batch or rows == 8
            assert len(batch.pairs) >= 1
            assert (np.diff(batch.pair_rows) >= 0).all()
            for lengths, most in zip((source, target), bound, strict=True):
                used = np.bincount(batch.pair_rows, lengths[batch.pairs] + 1, rows)
                assert used.max() <= most
            seen += batch.pairs.tolist()
        assert sorted(seen) == list(range(len(source)))


def test_any_step_equals_the_same_step_of_a_walk_through():
    source, target = random_lengths(701)
    walk, other = _plan(source, target), _plan(source, target)
    batches = [walk.batch(step) for step in range(3 * walk.batches_per_epoch)]
    for step in np.random.default_rng(0).permutation(len(batches)).tolist():
        batch = other.batch(step)
        assert batch.shape == batches[step].shape
        assert batch.rows == batches[step].rows


def test_the_plan_is_the_same_on_every_machine():
    """Fixed by hand: a change here makes old runs go on with other data."""
    lengths = np.array([9, 4, 4, 7, 2, 2, 1, 1])
    plan = _plan(
        lengths, lengths, seed=3, packed_length=10, tokens_per_batch=20, row_multiple=1
    )
    found = [plan.batch(step).rows for step in range(4)]
    assert found == [
        ((4, 5, 7), (2, 1)),
        ((3, 6), (0,)),
        ((0,), (1, 2)),
        ((3, 6), (4, 5, 7)),
    ]


def test_epochs_and_seeds_differ_in_members_and_order():
    source, target = random_lengths(5003)
    plan, other = _plan(source, target), _plan(source, target, seed=1)
    n = plan.batches_per_epoch

    def walk(plan, epoch):
        batches = [plan.batch(epoch * n + place) for place in range(n)]
        rows = {frozenset(row) for batch in batches for row in batch.rows if row}
        return rows, {frozenset(batch.pairs.tolist()) for batch in batches}

    walks = [walk(plan, 0), walk(plan, 1), walk(other, 0)]
    for first, second in [(0, 1), (0, 2), (1, 2)]:
        (rows, members), (other_rows, other_members) = walks[first], walks[second]
        # Of many lengths there is one pair, and so one row.
        assert len(rows & other_rows) < len(rows) / 5
        assert not members & other_members


def test_a_batch_mixes_rows_of_many_kinds():
    """Of short and of long sentences: their mean length is that of the text."""
    source, target = random_lengths(5003)
    plan = _plan(source, target, packed_length=90, tokens_per_batch=4096)
    assert len(plan.shapes) == 1
    for step in range(plan.batches_per_epoch):
        lengths = source[plan.batch(step).pairs]
        assert abs(lengths.mean() - source.mean()) < 4
        assert np.unique(lengths).size > 25


def test_empty_rows_are_spread_over_batches():
    """9 rows of one pair and 4 a batch: three batches, each with one empty."""
    lengths = np.full(9, 7)
    plan = _plan(
        lengths, lengths, packed_length=10, tokens_per_batch=40, row_multiple=2
    )
    batches = [plan.batch(step) for step in range(3)]
    assert plan.batches_per_epoch == 3
    assert [tuple(batch.shape) for batch in batches] == [(4, 10, 10)] * 3
    assert [batch.pair_rows.tolist() for batch in batches] == [[0, 1, 2]] * 3
    assert plan.real_token_share() == (72 / 120, 72 / 120)


def test_rows_are_halved_from_the_longest_and_keep_the_sides_proportion():
    positions = np.array([[20, 20], [40, 60], [203, 230]])
    counts = np.array([50, 10, 1])
    ratio = (50 * 20 + 10 * 40 + 203) / (50 * 20 + 10 * 60 + 230)
    longest = 203 / ratio
    bounds = row_bounds(positions, counts, 50)
    for part, (source, target) in zip((4, 2, 1), bounds, strict=True):
        assert target == pytest.approx(longest / part, abs=0.51)
        assert source == pytest.approx(203 / part, abs=0.51)
    assert row_bounds(positions, counts, 200) == [(203, round(longest))]
    assert row_bounds(positions, counts, 300) == [(round(300 * ratio), 300)]


@pytest.mark.parametrize("packed_length", [64, 128])
def test_lengths_as_on_wmt14_leave_few_positions_empty(packed_length):
    lengths = _like_wmt(200_000)
    plan = _plan(*lengths, tokens_per_batch=25_000, packed_length=packed_length)
    assert len(plan.shapes) <= 3
    assert min(plan.real_token_share()) > 0.97


def test_the_share_is_what_the_batches_hold():
    source, target = random_lengths(701)
    plan = _plan(source, target)
    batches = [plan.batch(i) for i in range(plan.batches_per_epoch)]
    real = sum(target[b.pairs].sum() + len(b.pairs) for b in batches)
    positions = sum(b.shape.rows * b.shape.target_length for b in batches)
    assert plan.real_token_share()[1] == pytest.approx(real / positions)


def test_the_first_batch_of_each_shape_is_found():
    plan = _plan(*_like_wmt(3000), packed_length=40)
    firsts = plan.first_of_each_shape(5, 10 * plan.batches_per_epoch)
    assert {batch.shape for batch in firsts} == set(plan.shapes)
    assert len(firsts) == len(plan.shapes) == 3
