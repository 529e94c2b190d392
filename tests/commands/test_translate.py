"""Translating as people use it: pipes, terminals, and what ends before its end."""

import contextlib
import os
import pathlib
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.tiny_run import train_one_step
from transformer_jax.commands import translate
from transformer_jax.decoding.translations import Candidate, Translation

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return train_one_step(tmp_path_factory.mktemp("translate"))


@contextlib.contextmanager
def _started(run: pathlib.Path, *arguments: str, **streams) -> Iterator:
    """Start the command; end it with the test, whatever happens."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "transformer_jax", "translate"),
            *("--workdir", str(run), *arguments),
        ],
        **{name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")} | streams,
        cwd=ROOT,
        env=os.environ | {"XLA_FLAGS": ""},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _ask(process: subprocess.Popen, line: bytes) -> bytes:
    process.stdin.write(line)
    process.stdin.flush()
    return process.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_line_is_answered_and_an_interruption_says_how_far_it_came(run, number):
    with _started(run) as process:
        for _ in range(3):
            assert _ask(process, b"The dog sleeps.\n").endswith(b"\n")
        process.send_signal(number)
        output, message = process.communicate()
    assert process.returncode == 130 and output == b""
    assert message.decode().splitlines()[-1] == (
        "translate: interrupted. Lines 1 to 3 are translated; `tail -n +4` gives the "
        "others."
    )


def test_lines_before_one_that_is_not_text_are_kept(run):
    with _started(run) as process:
        output, message = process.communicate(b"A dog.\nA cat.\nGr\xfc\xdfe\nA fox.\n")
    assert process.returncode == 1 and output.count(b"\n") == 2
    assert b"standard input, line 3: byte 0xfc" in message
    assert b"Lines 1 to 2 are translated" in message and b"Traceback" not in message


def test_a_terminal_gets_a_hint_and_an_answer_to_each_line(run):
    ours, theirs = pty.openpty()
    with _started(run, stdin=theirs) as process:
        os.close(theirs)
        for _ in range(2):
            os.write(ours, b"The dog sleeps.\n")
            assert process.stdout.readline().endswith(b"\n")
        os.write(ours, b"\x04")  # Ctrl-D
        output, message = process.communicate()
        os.close(ours)
    assert process.returncode == 0 and output == b""
    assert message.count(b"Ctrl-D ends") == 1


def test_output_that_cannot_be_written_ends_with_one_line(run):
    with open("/dev/full", "wb") as full, _started(run, stdout=full) as process:
        _, message = process.communicate(b"The dog sleeps.\n")
    assert process.returncode == 1
    assert message.decode().splitlines()[-1] == (
        "translate: error: Cannot write the translation: No space left on device. "
        "No line was translated."
    )


def test_separators_within_a_translation_are_escaped_in_n_best_lists():
    texts = ["a ||| b", "||||", "|| c |"]
    candidates = tuple(Candidate(text, -1.0, -2.0) for text in texts)
    translation = Translation(texts[0], candidates)
    assert translate._format(7, translation, None) == "a ||| b\n"
    bars = "&#124;&#124;&#124;"
    assert translate._format(7, translation, 3) == (
        f"7 ||| a {bars} b ||| -1.000000\n"
        f"7 ||| {bars}| ||| -1.000000\n"
        "7 ||| || c | ||| -1.000000\n"
    )
