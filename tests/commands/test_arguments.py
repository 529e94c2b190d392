import pytest

from transformer_jax.commands.arguments import (
    add_model_arguments,
    weight_options,
)
from transformer_jax.commands.parser import CommandParser


def _parse(*arguments):
    parser = CommandParser()
    add_model_arguments(parser)
    return weight_options(parser.parse_args(arguments))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), (None, 0, None)),
        (("--average", "5"), (None, 5, None)),
        (("--checkpoint", "best"), ("best", 0, None)),
        (("--average_steps", "2:8"), (None, 0, (2, 8, None))),
        (("--average-steps", "2:8:3"), (None, 0, (2, 8, 3))),
        (("--average-steps", "8:8"), (None, 0, (8, 8, None))),
    ],
)
def test_weights_are_chosen_in_one_of_three_ways(arguments, expected):
    assert tuple(_parse(*arguments).values()) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--average_steps=2"], "'2' is not FIRST:LAST or FIRST:LAST:EVERY"),
        (["--average_steps=2:b"], "'2:b' is not FIRST:LAST"),
        (["--average_steps=-2:4"], "'-2:4' is not FIRST:LAST"),
        (["--average_steps=4:2"], "'4:2' ends before it begins"),
        (["--average_steps=2:5:2"], "steps of 2 do not lead from 2 to 5"),
        (["--average_steps=2:4:0"], "steps of 0 do not lead"),
        (["--average_steps=2:4:2", "--average=2"], "not allowed with"),
        (["--average-steps=2:4", "--checkpoint=last"], "not allowed with"),
        (["--average=2", "--checkpoint=last"], "not allowed with"),
        (["--alpha=1", "--alpha", "0.6"], "--alpha is given twice: 1.0 and 0.6"),
        (["--beam_size=3", "--beam-size=3"], "--beam_size is given twice: 3 and 3"),
        (["--alpha=1", "--alp=1"], "--alpha is given twice: 1.0 and 1.0. Give it once"),
    ],
)
def test_a_wrong_choice_is_a_mistake_of_usage(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        _parse(*arguments)
    assert message in capsys.readouterr().err
