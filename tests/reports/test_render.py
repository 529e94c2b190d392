import json

from transformer_jax.reports.render import Report, render

REPORT = Report(
    "Layers",
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
        "| --- | --- | --- | --- |",
        "| a | 63 045 632 | – | – |",
        "| b\\|c | – | 3.3e18 | yes |",
        "",
        "- Read this.",
    ]
