from transformer_jax.text_table import text_table


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_flush_right():
    rows = [("score", "value", ""), ("a", "7.00", "x"), ("longer", "17.00", "")]
    assert text_table(rows, right=[1]).splitlines() == [
        "score   value",
        "------  -----  -",
        "a        7.00  x",
        "longer  17.00",
    ]
