from transformer_jax.decoding.length_batches import length_batches


def _plan(lengths, tokens_per_batch, row_multiple=1):
    return list(
        length_batches(
            lengths,
            tokens_per_batch=tokens_per_batch,
            longest=300,
            row_multiple=row_multiple,
        )
    )


def test_shapes_are_few_whatever_the_lengths():
    shapes = set()
    for count in (1, 2, 9, 100, 1000):
        for length in range(2, 301, 7):
            plan = _plan([length] * count, 2048)
            assert sum(len(members) for members, _, _ in plan) == count
            shapes.update((rows, shape) for _, rows, shape in plan)
    assert len(shapes) <= 18
    assert {shape for _, shape in shapes} == {16, 32, 64, 128, 256, 300}


def test_devices_share_the_rows_evenly():
    # 640 // 16 = 40 rows, and two more for seven devices.
    plan = _plan([8] * 90, 640, row_multiple=7)
    assert [(len(members), rows) for members, rows, _ in plan] == [
        (42, 42),
        (42, 42),
        (6, 42),
    ]
    # One text takes an eighth of 40 rows, of which eight devices have one each.
    assert _plan([2], 640, row_multiple=8) == [([0], 8, 16)]
