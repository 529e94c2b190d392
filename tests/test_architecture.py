"""ARCHITECTURE.md names files and lines that are there."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")]


def _find(path: str) -> pathlib.Path:
    """Return what a path of the page names, from the package or from the root."""
    return next(
        (
            place / path
            for place in (ROOT / "transformer_jax", ROOT)
            if (place / path).exists()
        ),
        ROOT / path,
    )


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`([\w/.]+(?:\.py|/))`", PAGE)))
)
def test_every_file_that_the_page_names_exists(path):
    assert _find(path).exists()


@pytest.mark.parametrize(
    ("path", "names"), re.findall(r"`([\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", PAGE)
)
def test_every_line_that_the_map_of_the_paper_names_exists(path, names):
    text = _find(path).read_text(encoding="utf-8")
    for name in re.findall(r"`(\w+)`", names):
        assert re.search(rf"^ *(?:def|class) {name}\b", text, re.MULTILINE), name


@pytest.mark.parametrize("table", ["MODELS", "TASKS", "SOURCES", "NORMS", "POSITIONS"])
def test_every_table_that_the_page_names_is_one_line_for_each_entry(table):
    assert f"`{table}`" in PAGE
    defined = [
        path
        for path in (ROOT / "transformer_jax").rglob("*.py")
        if re.search(rf"^{table}(?:: .*)? = \{{", path.read_text(), re.MULTILINE)
    ]
    assert len(defined) == 1


def test_the_map_reaches_every_section_that_says_what_to_build():
    sections = {row.split("|")[1].strip().partition(",")[0] for row in ROWS}
    for number in "3.1 3.2.1 3.2.2 3.2.3 3.3 3.4 3.5 4 5.1 5.2 5.3 5.4 6.1 6.2".split():
        assert number in sections, number
