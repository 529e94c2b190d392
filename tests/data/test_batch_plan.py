import numpy as np

from transformer_jax.data.batch_plan import BatchPlan, Epoch, PlannedBatch
from transformer_jax.data.batch_shapes import BatchShape


def test_rows_lists_the_pairs_of_each_row():
    batch = PlannedBatch(BatchShape(4, 9, 9), np.array([7, 5, 6]), np.array([0, 2, 2]))
    assert batch.rows == ((7,), (), (5, 6), ())


def test_a_step_is_a_place_in_an_epochs_order():
    """Three batches of two shapes; epoch e holds pairs from 10 e on."""
    shapes = [BatchShape(1, 5, 6), BatchShape(2, 7, 8)]
    plan = BatchPlan(
        np.full(6, 3),
        np.full(6, 4),
        shapes,
        [1, 2],
        lambda epoch: Epoch(
            pairs=10 * epoch + np.arange(6),
            pair_rows=np.array([0, 0, 0, 1, 1, 1]),
            starts=np.array([0, 1, 4, 6]),
            shapes=np.array([0, 1, 1]),
            order=np.array([1, 2, 0]),
        ),
        seed=7,
    )
    assert plan.batches_per_epoch == 3
    found = [
        (plan.batch(step).shape, plan.batch(step).rows) for step in (0, 1, 2, 4, 302)
    ]
    assert found == [
        (shapes[1], ((1, 2), (3,))),
        (shapes[1], ((), (4, 5))),
        (shapes[0], ((0,),)),
        (shapes[1], ((), (14, 15))),
        (shapes[0], ((1000,),)),
    ]
    assert plan.real_token_share() == (24 / 33, 30 / 38)
    assert plan.batch(302).seed == (7, 302)


def test_threads_that_cross_an_epoch_keep_both_plans():
    planned = []

    def plan_epoch(number):
        planned.append(number)
        zeros = np.zeros(2, np.int64)
        return Epoch(zeros, zeros, np.arange(3), zeros, np.arange(2))

    ones = np.ones(2, np.int64)
    plan = BatchPlan(ones, ones, [BatchShape(1, 2, 2)], [2], plan_epoch, seed=0)
    for step in (0, 2, 1, 3, 4, 3, 5):
        plan.batch(step)
    assert planned == [0, 1, 2]
