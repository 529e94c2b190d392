import pathlib

import pytest

from transformer_jax.reports import accelerators, cost, table2, table3
from transformer_jax.reports.render import render

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("report", [table2, table3, cost, accelerators])
def test_the_reports_in_docs_are_as_make_docs_writes_them(report):
    name = report.__name__.rpartition(".")[2]
    written = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert written == render(report.make_report(), "markdown") + "\n"
