import pathlib

import pytest

from transformer_jax.reports import (
    accelerator_rates,
    cost,
    field_list,
    sizes,
    table2,
    table3,
)
from transformer_jax.reports.render import render

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("table2", table2),
        ("table3", table3),
        ("cost", cost),
        ("accelerators", accelerator_rates),
        ("sizes", sizes),
        ("fields", field_list),
    ],
)
def test_the_reports_in_docs_are_as_make_docs_writes_them(name, report):
    written = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert written == render(report.make_report(), "markdown") + "\n"


def test_the_readme_estimates_the_cost_as_the_report_does():
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for row in cost.make_report().rows:
        line = (
            f"| {row['row']} | {100 * row['assumed_utilisation']:.0f} % "
            f"| {row['computed_hours']:.2f} "
            f"| {row['assumed_dollars_per_device_hour']:.2f} "
            f"| {row['computed_dollars']:.0f} |\n"
        )
        assert line in readme
