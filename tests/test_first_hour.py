"""docs/first_hour.md is of the session that docs/first_hour.py has now."""

import importlib.util
import re

from tests.documents import ROOT
from transformer_jax.text_table import WIDTH


def _steps():
    path = ROOT / "docs" / "first_hour.py"
    spec = importlib.util.spec_from_file_location("first_hour", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.STEPS


PAGE = (ROOT / "docs" / "first_hour.md").read_text(encoding="utf-8")


def test_the_page_shows_each_command_once_in_the_order_of_the_script():
    assert re.findall(r"(?m)^\$ (.*)", PAGE) == [step.command for step in _steps()]
    for step in _steps():
        assert step.told in PAGE


def test_the_session_ends_well():
    assert "Traceback" not in PAGE
    assert PAGE.count("error:") == 1  # The name that is wrong on purpose.
    assert str(ROOT) not in PAGE
    tables = [line for line in PAGE.splitlines() if re.match(r"\w+ +[\d.]+ ", line)]
    assert tables and max(map(len, tables)) <= WIDTH
