"""How a training ends, in its last line and its exit code."""

import os
import shlex
import signal
import sys
import types

import pytest

from transformer_jax.commands import train
from transformer_jax.config import default
from transformer_jax.errors import UserError
from transformer_jax.runs.directory import RunDirectory


@pytest.fixture
def last_line(monkeypatch, tmp_path, capsys):
    """Run the command with a training that ends so; return its code and last line."""
    workdir = tmp_path / "my run"
    config = default.get_config()
    config.training.num_steps = 2

    def end(outcome, flags=(), *, is_claimed=True, is_begun=True):
        def ends(config, workdir):
            if is_claimed:
                RunDirectory(workdir).claim(config, ("source", "target"))
                if is_begun:
                    (workdir / "checkpoints" / "1").mkdir(parents=True, exist_ok=True)
            if isinstance(outcome, signal.Signals):
                os.kill(os.getpid(), outcome)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr(train, "use_compilation_cache", lambda: None)
        options = types.SimpleNamespace(workdir=workdir)
        monkeypatch.setattr(train, "parse_config", lambda _: (config, options))
        monkeypatch.setattr(train.experiment, "train", ends)
        arguments = ["python", "train.py", *flags, f"--workdir={workdir}"]
        monkeypatch.setattr(sys, "orig_argv", arguments)
        code = 0
        try:
            train.main()
        except SystemExit as error:
            code = error.code
        return code, capsys.readouterr().err.splitlines()[-1]

    end.command = shlex.join(["train.py", f"--workdir={workdir}"])
    return end


@pytest.mark.parametrize(
    ("outcome", "code", "words", "more"),
    [
        ("terminated", 130, "To go on: ", ""),
        ("finished", 0, "To train for longer: ", " --config.training.num_steps=4"),
        ("early_stopping", 0, "To go on", " --config.training.patience=0"),
        (KeyboardInterrupt(), 130, "To go on: ", ""),
        (signal.SIGTERM, 130, "To go on: ", ""),
        (signal.SIGHUP, 130, "To go on: ", ""),
        (UserError("The disk is full."), 1, "To go on: ", ""),
        (NotADirectoryError(20, "Not a directory", "events"), 1, "To go on: ", ""),
    ],
)
def test_the_last_line_is_the_command_that_goes_on(
    last_line, outcome, code, words, more
):
    its_code, line = last_line(outcome)
    assert its_code == code
    assert words in line
    assert line.endswith(last_line.command + more)


def test_a_flag_that_has_to_change_takes_the_place_of_the_old_one(last_line):
    for steps in (
        ["--config.training.num_steps=2"],
        ["-config.training.num_steps", "2"],
    ):
        _, line = last_line("finished", steps)
        assert line.endswith(f"{last_line.command} --config.training.num_steps=4")


def test_a_command_that_cannot_go_on_is_not_repeated(last_line):
    ends = last_line(UserError("There is no such schedule."), is_claimed=False)
    assert ends == (1, "train: error: There is no such schedule.")
    ends = last_line(UserError("There is no file train.en."), is_begun=False)
    assert ends == (1, "train: error: There is no file train.en.")
