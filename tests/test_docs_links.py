"""What the documents point at is there: files, headings, fields, pages of the site."""

import re

import pytest

from tests.documents import ROOT, documents
from transformer_jax.config.tree import all_paths

PAGES = {path: path.read_text(encoding="utf-8") for path in documents()}
# Fields that a page adds by itself.
_ADDED = {
    "data.json_lines.test",
    "data.json_lines.train",
    "data.json_lines.validation",
    "model.width",
    "task.token_weight",
    "task.z_loss",
}


def _prose(text: str) -> str:
    """Leave out fenced blocks, which hold no links."""
    return re.sub(
        r"^ *(```+|~~~+).*?^ *\1 *$", "", text, flags=re.MULTILINE | re.DOTALL
    )


def _links(text: str) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", _prose(text))
    return [target for target in targets if not re.match(r"\w+:", target)]


def anchors(text: str) -> set[str]:
    """Return what headings are called in links, on GitHub as in the site."""
    headings = re.findall(r"^#+ (.*)$", _prose(text), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def test_links_and_anchors_are_found():
    text = "# A `b`: c\n\n[x](y.md#a-b-c)\n[z](https://z)\n```\n# no [n](n.md)\n```\n"
    assert _links(text) == ["y.md#a-b-c"]
    assert anchors(text) == {"a-b-c"}
    assert sum(len(_links(text)) for text in PAGES.values()) > 40


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_points_at_a_file_and_a_heading_of_it(path):
    for link in _links(PAGES[path]):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def test_pages_of_the_site_link_to_nothing_outside_of_it():
    for path, text in PAGES.items():
        if path.is_relative_to(ROOT / "docs"):
            for link in _links(text):
                target = (path.parent / link.partition("#")[0]).resolve()
                assert target.is_relative_to(ROOT / "docs"), (path, link)


def test_commands_are_spelt_in_one_way():
    """`train.py` and the like are other names of them, for those who look for these."""
    code = [*ROOT.glob("transformer_jax/**/*.py"), *ROOT.glob("configs/**/*.py")]
    for path in (*PAGES, *code):
        text = path.read_text(encoding="utf-8")
        old = r"python (train|evaluate)\.py|-m transformer_jax\.\w"
        assert not re.search(old, text), path


def test_every_page_is_in_the_navigation_once():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\ntheme:")[0]
    named = re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)
    pages = [str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")]
    assert sorted(named) == sorted(pages)


def test_every_field_that_is_named_is_one():
    known = {*all_paths(), *_ADDED}
    sections = {path.partition(".")[0] for path in known if "." in path}
    for path, text in PAGES.items():
        for section, rest in re.findall(r"\bconfig\.(\w+)\.(\w+(?:\.\w+)?)", text):
            if section in sections:
                field = f"{section}.{rest}".removesuffix(".update")
                is_section = any(name.startswith(f"{field}.") for name in known)
                assert field in known or is_section or field in sections, (path, field)
