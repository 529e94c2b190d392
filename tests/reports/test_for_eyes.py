"""Every report in a terminal of 100 columns, with and without runs."""

import re

import pytest

from tests.reports.a_run import write_run
from transformer_jax.commands import report as command
from transformer_jax.reports import table1
from transformer_jax.reports.render import render
from transformer_jax.text_table import WIDTH

NAMES = ["table1", "table2", "table3", "cost", "accelerators", "fields", "reproduce"]
OF_RUNS = {"table2", "table3", "cost", "reproduce"}
CALLS = [(name, False) for name in NAMES if name != "reproduce"] + [
    (name, True) for name in NAMES if name in OF_RUNS
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    names = ["base", "a_run_with_a_name_" + "that_goes_on_" * 8 + "日本語" * 9]
    return [str(write_run(folder / name, folder / "text").root) for name in names]


@pytest.fixture(scope="module", params=CALLS, ids=lambda call: f"{call[0]}-{call[1]}")
def report(request, runs):
    name, has_runs = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table1, "LENGTHS", (8, 16))
        patch.setattr(table1, "WIDTHS", (32,))
        argv = ["report", name, *(["--workdirs", *runs] if has_runs else [])]
        patch.setattr("sys.argv", argv)
        options = command._parse()
        assert options.format == "table"
        return command._REPORTS[name][1](options)


def test_no_line_is_wider_than_the_terminal(report):
    for line in render(report, "table").splitlines():
        wide = sum(char in "日本語" for char in line)
        assert len(line) + wide <= WIDTH, line


def test_a_plot_of_another_kind_is_refused_before_anything_is_printed(
    monkeypatch, capsys
):
    monkeypatch.setattr("sys.argv", ["report", "table1", "--plot=x.txt"])
    with pytest.raises(SystemExit, match="1"):
        command.main()
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)
    assert "'x.txt'" in error


def test_numbers_of_a_column_have_equally_many_decimals(report):
    columns = []
    for line in render(report, "markdown").splitlines():
        if line.startswith("|"):
            cells = line.strip("| ").split(" | ")
            if set(line) <= set("| -:"):
                columns = [set() if cell.endswith(":") else None for cell in cells]
            for places, cell in zip(columns, cells, strict=False):
                if places is not None and (number := re.search(r"\.(\d+)", cell)):
                    places.add(len(number[1]))
                elif places is not None and re.search(r"\d", cell):
                    places.add(0)
        else:
            assert all(len(places or "") <= 1 for places in columns), columns
            columns = []


def test_headings_are_words_and_names_of_columns_are_for_programs(report):
    headings = [c.heading for part in report.parts for c in part.columns]
    assert not any("_" in heading for heading in headings)
    names = {column.name for part in report.parts for column in part.columns}
    assert {name for row in report.rows for name in row} <= names
    assert all(set(row) <= names for part in report.parts for row in part.rows)
