import itertools

import numpy as np
import pytest

from transformer_jax.data.batch_shapes import (
    BatchShape,
    assign_shapes,
    choose_promotions,
    choose_shapes,
)
from transformer_jax.errors import UserError


def _lengths(count, seed=0):
    rng = np.random.default_rng(seed)
    source = rng.lognormal(2.5, 0.5, count).clip(1, 80).astype(np.int32)
    return source, (source * rng.lognormal(0, 0.3, count)).clip(1, 90).astype(np.int32)


@pytest.mark.parametrize("tokens_per_batch", [256, 1000, 25000])
@pytest.mark.parametrize("max_batch_shapes", [1, 5, 12])
@pytest.mark.parametrize("row_multiple", [1, 8, 12])
def test_shapes_keep_to_the_budget_and_hold_the_longest(
    tokens_per_batch, max_batch_shapes, row_multiple
):
    source, target = _lengths(3000)
    shapes = choose_shapes(
        source,
        target,
        tokens_per_batch=tokens_per_batch,
        max_batch_shapes=max_batch_shapes,
        row_multiple=row_multiple,
    )
    assert 1 <= len(shapes) <= max_batch_shapes
    assert len(set(shapes)) == len(shapes)
    for rows, *lengths in shapes:
        assert rows % row_multiple == 0
        assert rows * max(lengths) <= tokens_per_batch or rows == row_multiple
        assert (rows + row_multiple) * max(lengths) > tokens_per_batch or rows > 2990
    assert shapes[-1][1:] == (source.max() + 1, target.max() + 1)


def test_equal_lengths_need_one_shape():
    lengths = np.full(500, 9, np.int32)
    shapes = choose_shapes(
        lengths, lengths + 2, tokens_per_batch=1000, max_batch_shapes=12, row_multiple=8
    )
    assert shapes == (BatchShape(rows=80, source_length=10, target_length=12),)


def test_a_tiny_corpus_does_not_get_more_rows_than_it_fills():
    lengths = np.array([3, 5, 4])
    shapes = choose_shapes(
        lengths, lengths, tokens_per_batch=4096, max_batch_shapes=12, row_multiple=8
    )
    assert shapes == (BatchShape(8, 6, 6),)


def test_a_giant_sentence_does_not_pad_the_others():
    source, target = _lengths(3000)
    source[7] = 4000
    shapes = choose_shapes(
        source, target, tokens_per_batch=1000, max_batch_shapes=12, row_multiple=8
    )
    assert shapes[-1].rows == 8
    assert shapes[-1].source_length == 4001
    assert max(shape.source_length for shape in shapes[:-1]) < 100


def test_two_clusters_get_shapes_that_are_long_on_one_side():
    source = np.repeat([10, 40, 40], 4000)
    target = np.repeat([40, 10, 40], 4000)
    shapes = choose_shapes(
        source, target, tokens_per_batch=1000, max_batch_shapes=3, row_multiple=8
    )
    assert {shape[1:] for shape in shapes} == {(11, 41), (41, 11), (41, 41)}


def test_each_pair_goes_to_the_cheapest_shape_that_holds_it():
    shapes = [BatchShape(8, 5, 5), BatchShape(8, 5, 9), BatchShape(8, 12, 12)]
    # Four tokens and EOS just fit in five positions.
    source = np.array([4, 4, 5, 1, 11])
    target = np.array([4, 5, 4, 8, 11])
    assert assign_shapes(source, target, shapes).tolist() == [0, 1, 2, 1, 2]
    with pytest.raises(ValueError, match="pair 1 has 12 source and 3 target tokens"):
        assign_shapes(np.array([1, 12]), np.array([1, 3]), shapes)


def test_leftovers_move_up_where_that_saves_positions():
    shapes = [BatchShape(10, 5, 5), BatchShape(10, 6, 6)]
    # 3 leftovers pad 2 positions each in the larger shape, and save a batch of 100.
    assert choose_promotions(shapes, [13, 17]) == ([1, None], [1, 2], 100 + 240)
    # Here they would cost a batch more there.
    assert choose_promotions(shapes, [19, 19]) == ([None, None], [2, 2], 200 + 240)


def test_leftovers_never_move_to_a_shape_that_cannot_hold_them():
    shapes = [BatchShape(8, 4, 9), BatchShape(8, 9, 5), BatchShape(8, 9, 9)]
    assert choose_promotions(shapes, [1, 1, 1]).targets[:2] == [2, 2]


def test_promotions_are_close_to_the_best_of_all_combinations():
    rng = np.random.default_rng(0)
    for _ in range(20):
        bounds = sorted(rng.integers(3, 40, (6, 2)).tolist(), key=sum)
        bounds[-1] = [40, 40]
        shapes = [BatchShape(240 // max(b), *b) for b in bounds]
        counts = rng.integers(0, 300, 6).tolist()
        found = choose_promotions(shapes, counts)
        assert found.positions <= 1.02 * _best_of_all(shapes, counts)


def _best_of_all(shapes, counts):
    """Try every way of keeping leftovers or moving them to the cheapest holder."""
    best = np.inf
    for moves in itertools.product([False, True], repeat=len(shapes)):
        waiting, positions = list(counts), 0
        for i, (rows, source, target) in enumerate(shapes):
            up = [
                j
                for j in range(i + 1, len(shapes))
                if shapes[j][1] >= source and shapes[j][2] >= target
            ]
            batches = waiting[i] // rows
            if up and moves[i]:
                waiting[up[0]] += waiting[i] % rows
            else:
                batches = -(-waiting[i] // rows)
            positions += batches * rows * (source + target)
        best = min(best, positions)
    return best


@pytest.mark.parametrize(
    "field", ["tokens_per_batch", "max_batch_shapes", "row_multiple"]
)
def test_numbers_below_one_make_no_shapes(field):
    settings = {"tokens_per_batch": 100, "max_batch_shapes": 2, "row_multiple": 4}
    with pytest.raises(UserError, match=f"{field}=0.*at least 1"):
        choose_shapes(*_lengths(10), **settings | {field: 0})
