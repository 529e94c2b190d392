import pytest

from benchmarks.turns import (
    NOT_INSTALLED,
    Contestant,
    Result,
    take_turns,
    timing_row,
    without_empty_columns,
)
from transformer_jax.errors import UserError

HERE = "tests.benchmarks.contestants"


def _contestant(name, **arguments):
    return Contestant(name, f"{HERE}:{name}", arguments)


def test_each_takes_its_turns_and_a_problem_costs_its_own_row_alone():
    ours, missing, failing, dying = take_turns(
        [
            _contestant("quick", seconds=0.5),
            _contestant("not_installed"),
            _contestant("failing"),
            _contestant("dying"),
        ],
        3,
    )
    assert (ours.seconds, ours.problem) == ([0.5] * 3, None)
    assert ours.device == {"device_kind": "abacus"}
    assert missing.problem == f"{NOT_INSTALLED} (no_such_package)"
    assert failing.problem == "ValueError: cannot be prepared"
    assert dying.problem == "ended with code 1: gone"
    ours.require()
    with pytest.raises(UserError, match="failing: ValueError: cannot be prepared"):
        failing.require()
    assert [missing.seconds, failing.seconds, dying.seconds] == [[]] * 3


def test_who_takes_too_long_to_prepare_is_ended():
    (result,) = take_turns([_contestant("sleeping")], 1, prepare_seconds=0.2)
    assert result.problem == "ended after 0 s without an answer"


def test_ratios_are_of_turns_that_followed_each_other():
    ours, peer = Result("ours", [1.0, 2.0, 4.0]), Result("peer", [2.0, 2.0, 12.0])
    row = timing_row(peer, ours)
    assert (row["times_ours"], row["times_low"], row["times_high"]) == (2.0, 1.0, 3.0)
    assert (row["ms"], row["low"], row["high"]) == (2000.0, 2000.0, 12000.0)
    assert "times_ours" not in timing_row(ours, ours)
    assert timing_row(Result("gone", problem="gone"), ours) == {
        "contestant": "gone",
        "problem": "gone",
    }


def test_columns_without_anything_are_left_out():
    rows = [{"a": 1, "b": None, "c": None}, {"a": None, "b": None, "c": 0}]
    assert without_empty_columns(rows) == [{"a": 1, "c": None}, {"a": None, "c": 0}]
