"""Values are picked out of rows by those beside them."""

from transformer_jax.studies.rows import distinct, values

ROWS = [
    {"system": "b", "seed": 0, "loss": 3.0},
    {"system": "a", "seed": 0, "loss": None},
    {"system": "a", "seed": 1, "loss": 2.0},
    {"system": "b", "seed": 1, "loss": 1.0},
    {"system": "b", "seed": 2, "step": 7},
]


def test_rows_without_a_value_or_with_others_beside_it_are_left_out():
    assert values(ROWS, "loss") == [3.0, 2.0, 1.0]
    assert values(ROWS, "loss", system="b") == [3.0, 1.0]
    assert values(ROWS, "loss", system="b", seed=1) == [1.0]
    assert values(ROWS, "loss", step=7) == []


def test_distinct_values_keep_their_order():
    assert distinct(ROWS, "system") == ["b", "a"]
    assert distinct(ROWS, "seed", system="a") == [0, 1]
