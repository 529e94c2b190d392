from transformer_jax.text_table import WIDTH, paragraph, text_table


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_flush_right():
    rows = [("score", "value", ""), ("a", "7.00", "x"), ("longer", "17.00", "")]
    assert text_table(rows, right=[1]).splitlines() == [
        "score   value",
        "------  -----  -",
        "a        7.00  x",
        "longer  17.00",
    ]


def test_a_wide_table_wraps_headings_first_and_then_texts_but_no_numbers():
    number = "63 045 632"
    heading = ("name", "parameters of the whole model", "meaning")
    rows = [heading, ("base", number, "so many words " * 5), ("big", "7", "x")]
    lines = text_table(rows, right=[1]).splitlines()
    assert lines[0].split() == ["parameters", "of", "the"]
    assert lines[1].split() == ["name", "whole", "model", "meaning"]
    assert "base" in lines[3] and number in lines[3] and lines[-1].split()[1] == "7"
    assert len(lines) == 5


def test_no_line_is_wider_than_the_terminal_whatever_is_in_the_cells():
    names = ["z" * 300 + ".en", "日本語" * 50, "several words " * 20, "x\ny", ""]
    rows = [["file of text"] * 4, *([name, "1 000 000", name, "7"] for name in names)]
    lines = text_table(rows, right=[1, 3]).splitlines()
    wide = "日本語"
    widths = [len(line) + sum(char in wide for char in line) for line in lines]
    assert max(widths) == WIDTH
    assert sum("x y" in line for line in lines) == 1
    for char, number in (("z", 600), ("日", 100), ("w", 40)):
        assert sum(line.count(char) for line in lines) == number


def test_a_sentence_is_wrapped_and_a_signature_stays_whole():
    signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0|" + "x" * 30
    lines = paragraph(f"sacreBLEU as it is counted: {signature}").splitlines()
    assert lines == ["sacreBLEU as it is counted:", f"  {signature}"]


def test_columns_without_room_stand_below_beside_the_first_again():
    names = [f"figure number {place}" for place in range(12)]
    rows = [["who", *names], ["a run", *["1 000 000 000"] * 12]]
    above, below = text_table(rows, right=range(1, 13)).split("\n\n")
    for table in (above, below):
        assert max(map(len, table.splitlines())) <= WIDTH
        assert table.splitlines()[-1].startswith("a run")
    assert above.count("1 000") + below.count("1 000") == 12
