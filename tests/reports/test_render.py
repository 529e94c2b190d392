import json

from transformer_jax.reports.render import (
    Column,
    Part,
    Report,
    clock,
    decimals,
    one_table,
    powers,
    render,
)

REPORT = one_table(
    "Layers",
    [Column(name, name) for name in ("row", "params", "flops", "ok")],
    [{"row": "a", "params": 63_045_632}, {"row": "b|c", "flops": 3.28e18, "ok": True}],
    ["Read this."],
)


def test_json_is_a_list_of_rows_with_every_column():
    rows = json.loads(render(REPORT, "json"))
    assert rows == [
        {"row": "a", "params": 63_045_632, "flops": None, "ok": None},
        {"row": "b|c", "params": None, "flops": 3.28e18, "ok": True},
    ]


def test_csv_leaves_empty_what_is_not_known():
    lines = render(REPORT, "csv").splitlines()
    assert lines == ["row,params,flops,ok", "a,63045632,,", "b|c,,3.28e+18,True"]


def test_markdown_has_title_table_and_notes():
    lines = render(REPORT, "markdown").splitlines()
    assert lines == [
        "# Layers",
        "",
        "| row | params | flops | ok |",
        "| --- | ---: | ---: | --- |",
        "| a | 63 045 632 | – | – |",
        "| b\\|c | – | 3.3e18 | yes |",
        "",
        "- Read this.",
    ]


def test_a_table_for_eyes_has_words_equal_decimals_and_numbers_flush_right():
    columns = (
        Column("row", "system"),
        Column("bleu", "BLEU, per cent", decimals(2)),
        Column("flops", "training FLOPs", powers),
        Column("empty", "nothing"),
    )
    rows = [{"row": "a", "bleu": 27.0}, {"row": "`b`", "bleu": 7.138, "flops": 3e18}]
    report = one_table("Scores", columns, rows, ["A `note`."])
    assert render(report, "table").splitlines() == [
        "Scores",
        "",
        "system  BLEU, per cent  training FLOPs",
        "------  --------------  --------------",
        "a                27.00               –",
        "b                 7.14          3.0e18",
        "",
        "- A note.",
    ]
    assert "| `b` | 7.14 | 3.0e18 |" in render(report, "markdown")
    assert "row,bleu,flops,empty\n" in render(report, "csv")


def test_people_see_parts_and_programs_whole_rows():
    first, second = [{"row": "a", "x": 1}], [{"row": "b", "y": 2}]
    parts = [
        Part(title, (Column("row", "row"), Column(name, name)), rows)
        for title, name, rows in (("X", "x", first), ("Y", "y", second), ("Z", "z", []))
    ]
    report = Report("Parts", parts, first + second)
    assert render(report, "csv").splitlines() == ["row,x,y,z", "a,1,,", "b,,2,"]
    markdown = render(report, "markdown")
    assert "## X\n\n| row | x |\n" in markdown and "## Z" not in markdown
    assert "\n\nY\n\nrow  y\n" in render(report, "table")


def test_hours_are_shown_as_a_clock():
    assert [clock(hours) for hours in (0.0041, 1.5, 561.6965)] == [
        "0:00:15",
        "1:30:00",
        "561:41:47",
    ]
