import os

import jax
import pytest

from transformer_jax.commands.messages import command


def _end(error: Exception, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line with which a command ends that raises `error`."""
    with pytest.raises(SystemExit, match="1"), command("program"):
        raise error
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    "error",
    [
        jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory\nallocating"),
        MemoryError("Unable to allocate 4 TiB"),
        MemoryError(),
    ],
)
def test_too_little_memory_is_one_line(error, capsys):
    line = _end(error, capsys)
    assert line.startswith("program: error: There is too little memory.")


@pytest.mark.parametrize("error", [AssertionError(), RuntimeError("backend\nlines")])
def test_a_device_that_is_missing_is_one_line(error, capsys, monkeypatch):
    def find_none():
        raise error

    monkeypatch.setattr(jax, "devices", find_none)
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    assert "no device for JAX_PLATFORMS=cuda. Unset it" in _end(error, capsys)


def test_a_fault_of_the_program_keeps_its_traceback():
    with pytest.raises(RuntimeError, match="a fault"), command("program"):
        raise RuntimeError("a fault")


def test_an_interruption_says_what_it_is_given(capsys):
    with pytest.raises(SystemExit, match="130"), command("program"):
        raise KeyboardInterrupt("No line was translated.")
    expected = "program: interrupted. No line was translated.\n"
    assert capsys.readouterr().err == expected


def test_pictures_need_no_window_whatever_a_notebook_left(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    with command("program"):
        assert os.environ["MPLBACKEND"] == "agg"
