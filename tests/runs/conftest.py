"""Text that runs are trained on; tests copy it before they change it."""

import pathlib

import pytest

from tests.tiny_run import write_text


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return write_text(tmp_path_factory.mktemp("text"))
