"""Write first_hour.md: a first session on text of one's own, as it went.

python docs/first_hour.py

Runs each command in runs/first_hour, from an environment with the package in it; less
than an hour on two cores.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import NamedTuple

from transformer_jax.data.sources.grammar import GrammarPairs

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_PLACE = _ROOT / "runs" / "first_hour"
_PAGE = _ROOT / "docs" / "first_hour.md"

_TRAIN = (
    "python -m transformer_jax train --config configs/own_text_tiny.py "
    "--config.data.directory=my_text --workdir my_run"
)


class Step(NamedTuple):
    """One command of the session.

    Attributes:
      told: what is said before it.
      command: as it is typed.
      num_first: lines of its output to show from the beginning.
      num_last: and from the end.
      interrupt_at: press Ctrl-C when a line begins so.
    """

    told: str
    command: str
    num_first: int = 30
    num_last: int = 0
    interrupt_at: str | None = None


STEPS = (
    Step(
        "The text lies in a folder, one sentence a line. Here it is 20 000 sentence "
        "pairs of the built-in grammar, as files that might be anybody's.",
        "ls my_text",
    ),
    Step("", "head -n 2 my_text/train.en my_text/train.de"),
    Step(
        "A name is wrong. What is looked for, and what is there, is said at once.",
        _TRAIN,
    ),
    Step("", "mv my_text/dev.en my_text/valid.en; mv my_text/dev.de my_text/valid.de"),
    Step(
        "Now it trains: it learns the tokens first, then compiles. Ctrl-C after the "
        "first validation: the run ends saved, and its last line is how to resume.",
        _TRAIN,
        num_first=14,
        num_last=9,
        interrupt_at="step 300, validation",
    ),
    Step(
        "The same command resumes it, where it was.",
        _TRAIN,
        num_first=7,
        num_last=7,
    ),
    Step(
        "How good is it? The test split was kept in the run.",
        "python -m transformer_jax evaluate --workdir my_run --examples 2",
        num_last=10,
    ),
    Step(
        "The mean of the last checkpoints, as in the paper (Section 6.1):",
        "python -m transformer_jax evaluate --workdir my_run --average 5",
        num_first=4,
    ),
    Step(
        "A sentence of one's own:",
        'echo "The dog sees the cat." | python -m transformer_jax translate --workdir '
        "my_run",
    ),
    Step(
        "Pictures of how it went, and of who looks at whom:",
        "python -m transformer_jax plot curves --workdir my_run --output curves.png",
    ),
    Step(
        "",
        'python -m transformer_jax plot attention --workdir my_run --source "The dog '
        'sees the cat." --output attention.png',
    ),
    Step(
        "Whether every file of the run is whole:",
        "python -m transformer_jax check --workdir my_run",
        num_first=6,
        num_last=2,
    ),
    Step(
        "And a page about the run, to go with it:",
        "python -m transformer_jax report card --workdirs my_run",
    ),
)


def main() -> None:
    """Run the session and write the page."""
    # What is ignored here, as under nohup, the commands would not hear either.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    shutil.rmtree(_PLACE, ignore_errors=True)
    _write_text(_PLACE / "my_text")
    (_PLACE / "configs").symlink_to(_ROOT / "configs")
    start = time.monotonic()
    blocks = [_block(step) for step in STEPS]
    minutes = (time.monotonic() - start) / 60
    _PAGE.write_text(
        "# The first hour\n\n"
        "A session on text of one's own with the small config, as it went on\n"
        f"{os.cpu_count()} cores in {minutes:.0f} minutes; `python docs/first_hour.py` "
        "repeats it. Dots stand for lines\nthat are left out.\n\n"
        + "\n\n".join(blocks)
        + "\n",
        encoding="utf-8",
    )


def _write_text(folder: pathlib.Path) -> None:
    """Write six files, two of them under another name than is looked for."""
    folder.mkdir(parents=True)
    for split, name, number in (
        ("train", "train", 20_000),
        ("validation", "dev", 500),
        ("test", "test", 500),
    ):
        texts = GrammarPairs(split, number, seed=0).all_texts()
        for language, lines in zip(("en", "de"), zip(*texts, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{name}.{language}").write_text(text, encoding="utf-8")


def _block(step: Step) -> str:
    """Run a command; return it with its output, as a part of the page."""
    print(f"$ {step.command}", flush=True)
    process = subprocess.Popen(
        ["bash", "-c", f"exec 2>&1; {step.command}"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        cwd=_PLACE,
        env=os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"},
        start_new_session=True,
    )
    lines = []
    for line in process.stdout or ():
        print(line, end="", flush=True)
        lines.append(line.rstrip())
        if step.interrupt_at and line.startswith(step.interrupt_at):
            os.killpg(process.pid, signal.SIGINT)
    process.wait()
    if len(lines) > step.num_first + step.num_last:
        last = lines[len(lines) - step.num_last :]
        lines = [*lines[: step.num_first], "...", *last]
    block = "\n".join(["```console", f"$ {step.command}", *lines, "```"])
    return "\n\n".join(filter(None, [step.told, block]))


if __name__ == "__main__":
    main()
