"""The help of every command, as it is seen in a terminal of 100 columns."""

import contextlib
import io
import pathlib
import subprocess
import sys

import pytest

from transformer_jax import __version__, commands
from transformer_jax.__main__ import COMMANDS, main
from transformer_jax.commands import report

_MAX_COLUMNS, _MAX_LINES = 100, 40
_REPORTS = tuple(report._REPORTS | report._CARD)
_PICTURES = ("curves", "positions", "attention")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "transformer_jax", *arguments],
        capture_output=True,
        encoding="utf-8",
        env={"COLUMNS": str(_MAX_COLUMNS), "TRANSFORMER_JAX_HUGE_PAGES": "off"},
    )


def _code_of_main() -> object:
    try:
        main()
    except SystemExit as ending:
        return ending.code or 0
    return 0


def _help(*words: str) -> str:
    """Return a help, asked for within this process: there are many of them."""
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()) as output,
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        patch.setenv("COLUMNS", str(_MAX_COLUMNS))
        patch.setenv("TRANSFORMER_JAX_HUGE_PAGES", "off")
        patch.setattr(sys, "argv", ["transformer_jax", *words, "--help"])
        code = _code_of_main()
    assert (code, errors.getvalue()) == (0, "")
    lines = output.getvalue().splitlines()
    assert max(map(len, lines)) <= _MAX_COLUMNS
    assert len(lines) <= _MAX_LINES
    return output.getvalue()


def test_every_command_is_listed_with_what_it_does():
    text = _help()
    for name in COMMANDS:
        assert f"\n  {name} " in text
        assert (pathlib.Path(commands.__path__[0]) / f"{name}.py").is_file()
    assert "--config configs/grammar_tiny.py --workdir RUN" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_fits_a_screen_and_has_an_example(command):
    text = _help(command)
    assert text.startswith(f"usage: python -m transformer_jax {command} ")
    assert text.count(f"python -m transformer_jax {command} ") >= 2


@pytest.mark.parametrize("command", ["train", "prepare"])
def test_the_help_says_how_to_set_a_field_and_where_all_are_listed(command):
    text = _help(command)
    assert "--config FILE" in text
    assert "--config.training.num_steps=" in text
    assert "python -m transformer_jax report fields" in text


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *[("report", name) for name in _REPORTS],
        *[("plot", name) for name in _PICTURES],
    ],
)
def test_the_help_of_a_part_of_a_command_fits_a_screen(command, name):
    text = _help(command, name)
    assert text.startswith(f"usage: python -m transformer_jax {command} {name} ")


def test_no_command_shows_them_all_and_ends_with_2():
    result = _run()
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == _help()


def test_a_command_that_there_is_not_is_told_with_the_nearest_one():
    result = _run("trian")
    assert (result.returncode, result.stdout) == (2, "")
    assert "no command 'trian'. Did you mean train?" in result.stderr
    assert result.stderr.count("\n") == 1


def test_help_before_a_command_is_its_own():
    result = _run("help", "check")
    assert (result.returncode, result.stdout) == (0, _help("check"))


def test_the_version_is_told():
    assert _run("--version").stdout == f"transformer_jax {__version__}\n"


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("translate", "translate"),
        ("prepare_data", "prepare"),
        ("reports", "report"),
        ("visualization", "plot"),
    ],
)
def test_modules_that_were_commands_once_still_are(module, command):
    environment = {"COLUMNS": str(_MAX_COLUMNS)}
    result = subprocess.run(
        [sys.executable, "-m", f"transformer_jax.{module}", "--help"],
        capture_output=True,
        encoding="utf-8",
        env=environment,
    )
    assert (result.returncode, result.stdout) == (0, _help(command))
