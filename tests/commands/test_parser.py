"""What is said about options that are wrong, whatever the command."""

import pytest

from transformer_jax.commands.parser import CommandParser
from transformer_jax.commands.score import is_meant


@pytest.fixture
def parser():
    made = CommandParser(prog="python -m transformer_jax shrink")
    made.add_argument("--beam_size", type=int)
    made.add_argument("--workdir", required=True)
    made.add_argument("--format", choices=["table", "json"])
    return made


def _mistake(parser, capsys, *arguments):
    """Return the one line that a wrong command line is answered by."""
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(arguments)
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize("name", ["--beam_size", "--beam-size", "-beam-size"])
@pytest.mark.parametrize("joint", [" ", "="])
def test_words_of_a_name_are_joined_either_way(parser, name, joint):
    given = parser.parse_args([*f"{name}{joint}3".split(), "--workdir=a-b_c"])
    assert (given.beam_size, given.workdir) == (3, "a-b_c")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "the following arguments are required: --workdir."),
        (["--beam-sice=3"], "there is no --beam_sice. Did you mean --beam_size?"),
        (["--wokdir", "x"], "there is no --wokdir. Did you mean --workdir?"),
        (["--zzz"], "there is no --zzz. See"),
        (["--tokenizer", "x"], "there is no --tokenizer. See"),
        (["--workdir="], "--workdir is empty, as from a shell's variable"),
        (["--workdir=x", "--config.seed=3"], "there is no --config.seed."),
        (["--workdir=x", "surplus"], "'surplus' belongs to no option."),
        (
            ["--workdir=x", "--format=tabel"],
            "no 'tabel'. Did you mean table? The choices",
        ),
        (["--workdir=x", "--beam_size=two"], "invalid int value: 'two'."),
        (["--workdir=x", "--workdir=y"], "--workdir is given twice: x and y. Give it"),
    ],
)
def test_a_mistake_is_one_line_that_says_where_to_look(
    parser, capsys, arguments, words
):
    line = _mistake(parser, capsys, *arguments)
    assert line.startswith("shrink: ")
    assert words in line
    assert line.endswith(" See python -m transformer_jax shrink --help")


def test_fields_are_left_over_in_their_order_with_their_values():
    parser = CommandParser(takes_fields=True)
    parser.add_argument("--workdir")
    fields = ["--config.seed", "-1", "--config.data.directory=my dir"]
    options, rest = parser.parse_known_args([fields[0], "-1", "--workdir=x", fields[2]])
    assert (options.workdir, rest) == ("x", fields)


def test_an_option_before_the_sub_command_is_told_of(capsys):
    parser = CommandParser(prog="draw", usage="%(prog)s PICTURE [options]")
    parser.add_subparsers().add_parser("curves").add_argument("--output")
    line = _mistake(parser, capsys, "--output=a.png", "curves")
    assert "--output=a.png comes too early; expected: draw PICTURE [options]." in line


def test_an_option_of_a_sub_command_is_given_once_as_well(capsys):
    parser = CommandParser()
    command = parser.add_subparsers().add_parser("curves")
    command.add_argument("--output")
    command.add_argument("--workdirs", nargs="+", action="extend", default=[])
    given = parser.parse_args(["curves", "--workdirs", "a", "b", "--workdirs", "c"])
    assert given.workdirs == ["a", "b", "c"]
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(["curves", "--output=a.png", "--output=b.png"])
    assert "--output is given twice: a.png and b.png" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["--hypothesis", "-hypothesis", "--baseline"])
@pytest.mark.parametrize("rest", [["x"], []])
def test_evaluate_leaves_finished_translations_to_score(name, rest):
    assert is_meant([name, *rest] if rest else [f"{name}=x"])
    assert not is_meant(["--workdir", name.lstrip("-"), f"{name}_other=x"])
