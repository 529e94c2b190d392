"""Every block of commands in the documents runs, on tiny text and a tiny run.

The names in them are taken as they stand: DIR and RUN are folders, S, R, H and B files
of the folder in which they run. A block is run as a whole, by bash. One that is neither
commands nor listed below fails: make it run, or say in the list why it cannot.
"""

import configparser
import pathlib
import re
import runpy
import shutil
import subprocess

import pytest

from tests.data.sources.wmt14_archives import prepare_wmt14
from tests.documents import (
    ROOT,
    SESSIONS,
    Block,
    blocks_of,
    documents,
    find_blocks,
    put_python,
    run_bash,
)
from tests.tiny_run import MODEL_SIZES, SPLITS, tiny_config, write_text
from transformer_jax.data.sources.grammar import GrammarPairs
from transformer_jax.runs import experiment

# Blocks that are no commands, by their document and first words, and what they are.
_NO_COMMANDS = {
    ("README.md", "score"): "what `make quickstart` prints; test_learning.py",
    ("ARCHITECTURE.md", "train.py evaluate.py"): "the tree",
}

# Commands that cannot succeed here, and why: what they say has to be this.
_CANNOT = {
    "python -m transformer_jax score ... --source S --comet MODEL": (
        "COMET's model is not part of the project",
        "There is no COMET model",
    ),
}

# Names in the documents that stand for what nobody can type, and what is typed here.
_STANDS_FOR = {
    "score ...": "score --hypothesis H --reference R --target_language de",
    "RUN ...": "RUN",
    "=SEED": "=1",
    "study NAME": "study --help",
    "3000:4000": "3:4",
}

_TINY = (
    "data.grammar.num_train_pairs=60 data.grammar.num_validation_pairs=8 "
    "data.grammar.num_test_pairs=7 data.vocab_size=330 data.tokens_per_batch=256 "
    "data.max_batch_shapes=1 data.max_length=64 "
    "training.num_steps=5 evaluation.eval_every_steps=0 evaluation.beam_size=1 "
    "checkpoints.save_every_steps=1 decoding.beam_size=2 "
    "decoding.max_extra_length=3 decoding.tokens_per_batch=512"
)
# What makes a long command short, after its own arguments; a training's model as well.
_SHORTENED = {
    "train": " ".join(f"--config.{change}" for change in _TINY.split()),
    "benchmarks.table3_multi30k": "--only_report",
}

_LABELS = ("no", "yes") * 50
_BERT_SIZES = {"num_layers": 1, "d_model": 8, "d_ff": 16, "num_heads": 2}

# A config file of one's own.
_MY_CONFIG = """
from transformer_jax.config import default

def get_config():
    config = default.get_config()
    config.data.source = "grammar"
    config.data.grammar.update(
        num_train_pairs=60, num_validation_pairs=8, num_test_pairs=7
    )
    return config
"""


def kind_of(block: Block) -> str:
    """ "make", "pip", "run", "python" or "no commands"; or "unknown"."""
    words = " ".join(block.lines[0].split())
    if any(
        block.document == document and words.startswith(start)
        for document, start in _NO_COMMANDS
    ):
        return "no commands"
    if block.language == "console":
        return "no commands"  # A session as it went; test_first_hour.py.
    if words.startswith("import "):
        return "python"
    first = {command.split()[0] for command in block.commands}
    for kind, programs in {
        "make": {"make"},
        "pip": {"pip"},
        "run": {"python", ".venv/bin/python", "export", "echo"},
    }.items():
        if first <= programs:
            return kind
    return "unknown"


BLOCKS = [
    block
    for path in documents()
    if (document := str(path.relative_to(ROOT))) not in SESSIONS
    for block in blocks_of(document)
]


def _of_kind(kind: str) -> list[object]:
    """Return the blocks of a kind; of those that run, all but one are slow."""
    return [
        pytest.param(
            block,
            id=f"{block.document}:{block.line}",
            marks=[pytest.mark.slow] * (kind == "run" and not _is_quick(block)),
        )
        for block in BLOCKS
        if kind_of(block) == kind
    ]


def _is_quick(block: Block) -> bool:
    """README's own text: training, scoring, translating."""
    return block.document == "README.md" and "own_text_tiny.py" in block.text


def test_every_block_is_of_commands_or_listed_with_its_reason():
    unknown = [
        f"{block.document}:{block.line}: {block.lines[0]}"
        for block in BLOCKS
        if kind_of(block) == "unknown"
    ]
    assert not unknown, "make them commands that run, or list them in this file"


def test_what_is_listed_is_still_there():
    for document, start in _NO_COMMANDS:
        assert any(
            block.document == document
            and " ".join(block.lines[0].split()).startswith(start)
            for block in BLOCKS
        ), start
    text = "\n".join(command for block in BLOCKS for command in block.commands)
    for name in [*_CANNOT, *_STANDS_FOR, *_SHORTENED]:
        assert name in text, name


def test_blocks_are_found_fenced_and_indented():
    """So that the tests here cannot pass by finding nothing."""
    text = "a\n\n    one \\\n        two  # three\n\n    four\n\n```sh\nfive\n```\n"
    indented, fenced = find_blocks(text + "- list\n    goes on\n", "x.md")
    assert (indented.line, indented.commands) == (3, ["one two", "four"])
    assert (fenced.line, fenced.commands) == (9, ["five"])
    assert kind_of(indented) == "unknown"
    kinds = [kind_of(block) for block in BLOCKS if block.document == "README.md"]
    assert kinds.count("run") >= 6
    assert {"make", "pip"} <= set(kinds)


@pytest.mark.parametrize("block", _of_kind("make"))
def test_every_target_that_is_to_be_made_is_in_the_makefile(block):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([\w-]+):", makefile, re.MULTILINE)
    for command in block.commands:
        assert set(command.split()[1:]) <= set(targets), command


@pytest.mark.parametrize("block", _of_kind("pip"))
def test_every_extra_that_is_to_be_installed_is_one(block):
    """Installing needs the network; this is what can be wrong without it."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    for command in block.commands:
        for extras in re.findall(r"'\.\[([\w,]+)\]'", command):
            assert set(extras.split(",")) <= set(setup["options.extras_require"])
        assert re.match(r"pip install (-e )?(\.|'\.\[)", command), command


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the text that all blocks read, and what they compile."""
    folder = tmp_path_factory.mktemp("documents")
    text = write_text(folder / "text")
    for language in ("en", "de"):
        for split, names in {
            "validation": ("val", "valid"),
            "test": ("test_2016_flickr",),
        }.items():
            for name in names:
                shutil.copy(text / f"{split}.{language}", text / f"{name}.{language}")
    for split in ("train", "validation"):
        rows = zip(
            (text / f"{split}.en").read_text().splitlines(), _LABELS, strict=False
        )
        table = "".join(f"{sentence}\t{label}\n" for sentence, label in rows)
        (text / f"{split}.tsv").write_text(f"sentence\tlabel\n{table}")
    for name, source in {"S": "en", "R": "de", "H": "de", "B": "en"}.items():
        shutil.copy(text / f"test.{source}", folder / name)
    shutil.copy(folder / "S", folder / "in.txt")
    return folder


@pytest.fixture(scope="session")
def trained(shared: pathlib.Path) -> pathlib.Path:
    """A finished run, with a checkpoint for each of five steps."""
    config = tiny_config(shared / "text", num_steps=5)
    config.checkpoints.save_every_steps = 1
    experiment.train(config, shared / "run")
    return shared / "run"


@pytest.fixture(scope="session")
def prepared(shared: pathlib.Path) -> pathlib.Path:
    """WMT14 English-German in the layout of TFDS, with sentences of the grammar."""
    pairs = GrammarPairs("train", 60, seed=5).all_texts()
    english, german = zip(*pairs, strict=True)
    prepare_wmt14(shared / "tfds", "de", {"europarl": (german, english)})
    return shared / "tfds/data"


@pytest.fixture
def place(
    shared: pathlib.Path, tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> pathlib.Path:
    """A folder like the project's root, with everything that a block names."""
    text = "\n".join(request.getfixturevalue("block").commands)
    for name in ("train.py", "evaluate.py", "configs"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("S", "R", "H", "B", "in.txt"):
        shutil.copy(shared / name, tmp_path)
    if "TFDS_DATA_DIR=DIR" in text:
        (tmp_path / "DIR").symlink_to(request.getfixturevalue("prepared"))
    else:
        (tmp_path / "DIR").symlink_to(shared / "text")
    (tmp_path / "my_config.py").write_text(_MY_CONFIG)
    if "train" not in text or "init_from=RUN" in text:
        shutil.copytree(request.getfixturevalue("trained"), tmp_path / "RUN")
    put_python(tmp_path / "bin/python")
    put_python(tmp_path / ".venv/bin/python")
    return tmp_path


def _run(script: str, place: pathlib.Path) -> subprocess.CompletedProcess[bytes]:
    return run_bash(script, place, place / "bin", ROOT, input=b"The dog sleeps.\n")


def _as_typed(command: str) -> str:
    """Put something in place of what the document leaves open, and make it short."""
    for name, meaning in _STANDS_FOR.items():
        command = command.replace(name, meaning)
    for program, arguments in _SHORTENED.items():
        if program in command.split():
            command += " " + arguments
            if program == "train":
                command += _small_model(command)
    return command


def _small_model(command: str) -> str:
    """Return arguments that make the model of a training small."""
    chosen = re.search(r"--config\.model\.name=(\w+)", command)
    file = re.search(r"--config[ =](configs/[\w/]+\.py)", command)
    name = "transformer"
    if chosen is not None:
        name = chosen[1]
    elif file is not None:
        name = runpy.run_path(str(ROOT / file[1]))["get_config"]().model.name
    sizes = {**MODEL_SIZES, "bert": _BERT_SIZES}[name]
    return "".join(
        f" --config.model.{field}={value}"
        for field, value in sizes.items()
        if f"--config.model.{field}=" not in command
    )


@pytest.mark.parametrize("block", _of_kind("python"))
def test_the_block_runs_in_python(block, place):
    program = "\n".join(block.lines)
    result = _run(f"python - << 'EOF'\n{program}\nEOF", place)
    assert result.returncode == 0, result.stderr.decode()


@pytest.mark.parametrize("block", _of_kind("run"))
def test_the_block_runs_and_writes_what_it_says(block, place):
    commands = [command for command in block.commands if command not in _CANNOT]
    result = _run("\n".join(map(_as_typed, commands)), place)
    assert result.returncode == 0, result.stderr.decode()
    for name in re.findall(r"(?:--output|>) (\S+\.\w+)", "\n".join(commands)):
        assert (place / name).stat().st_size > 0, name
    if "< in.txt > out.txt" in " ".join(commands):
        assert (place / "out.txt").read_text().count("\n") == SPLITS["test"]


@pytest.mark.parametrize(
    "block", [Block("", 0, (command,)) for command in _CANNOT], ids=list(_CANNOT)
)
@pytest.mark.slow
def test_a_command_that_cannot_succeed_here_is_understood(block, place):
    (command,) = block.commands
    result = _run(_as_typed(command), place)
    assert result.returncode == 1, result.stderr.decode()
    assert _CANNOT[command][1] in result.stderr.decode()
