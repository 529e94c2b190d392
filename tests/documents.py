"""The blocks of the documents, as the tests run them."""

import os
import pathlib
import re
import stat
import subprocess
import sys
import types
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Pages whose blocks run from top to bottom, in a copy of the project.
SESSIONS = (
    "docs/adding_a_model.md",
    "docs/adding_a_task.md",
    "docs/forking.md",
    "docs/notebook.md",
)


class Block(NamedTuple):
    """A block of a document.

    Attributes:
      document: its path from the root.
      line: where it begins, counted from 1.
      lines: what is in it, without empty lines.
      text: all of it.
      language: the word behind the fence, "" where there is none.
      title: a path, of the file that the block is or changes; "" where it is neither.
    """

    document: str
    line: int
    lines: tuple[str, ...]
    text: str = ""
    language: str = ""
    title: str = ""

    @property
    def commands(self) -> list[str]:
        """One line for each command, without comments."""
        text = "\n".join(self.lines).replace("\\\n", " ")
        lines = [re.sub(r"(^|\s+)#.*", "", line) for line in text.splitlines()]
        return [" ".join(line.split()) for line in lines if line.strip()]


def find_blocks(text: str, document: str) -> list[Block]:
    """Return fenced blocks, and those indented by four spaces after an empty line."""
    blocks = []
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        start, line = number, lines[number]
        number += 1
        language = title = ""
        if fence := re.match(r' *(```+|~~~+) *(\w*)(?: title="(.*)")?', line):
            while number < len(lines) and lines[number].strip() != fence[1]:
                number += 1
            inside = lines[start + 1 : number]
            language, title = fence[2], fence[3] or ""
            number += 1
            start += 1
        elif line.startswith("    ") and (start == 0 or not lines[start - 1].strip()):
            while number < len(lines) and re.match(r"    |\s*$", lines[number]):
                number += 1
            inside = lines[start:number]
        else:
            continue
        if filled := tuple(line for line in inside if line.strip()):
            whole = "\n".join(inside) + "\n"
            blocks.append(Block(document, start + 1, filled, whole, language, title))
    return blocks


def documents() -> list[pathlib.Path]:
    """Return every page of the project."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks_of(document: str) -> list[Block]:
    """Return the blocks of a page, named by its path from the root."""
    return find_blocks((ROOT / document).read_text(encoding="utf-8"), document)


def module_of(document: str, title: str) -> types.ModuleType:
    """Return a file that a page holds, as a module: what it adds without its line."""
    (block,) = (b for b in blocks_of(document) if b.title == title)
    name = title.removesuffix(".py").replace("/", ".")
    if name not in sys.modules:
        module = types.ModuleType(name)
        # Its dataclasses look their types up by the module's name.
        sys.modules[name] = module
        exec(compile(block.text, title, "exec"), module.__dict__)
    return sys.modules[name]


def put_python(path: pathlib.Path) -> None:
    """Make a program that is this interpreter.

    No link: an interpreter finds its packages by where it lies.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run_bash(
    script: str,
    folder: pathlib.Path,
    programs: pathlib.Path,
    package: pathlib.Path,
    input: bytes | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run commands as a reader would, up to the first that fails.

    Args:
      script: the commands.
      folder: where they run.
      programs: a folder of programs that come before all others.
      package: where `transformer_jax` is imported from.
      input: what stands on standard input.
      environment: further variables.
    """
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(package),
        "XLA_FLAGS": "",
    }
    return subprocess.run(
        ["bash", "-exuo", "pipefail", "-c", script],
        input=input,
        capture_output=True,
        cwd=folder,
        env=os.environ | variables | environment,
    )
