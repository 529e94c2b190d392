"""Text that cannot be scored is refused; text that should not be is remarked on."""

import pytest

from transformer_jax.errors import UserError
from transformer_jax.evaluation import suspicions


def test_different_numbers_of_lines_are_named():
    with pytest.raises(UserError, match="2 hypothesis lines and 3 reference"):
        suspicions.require_scorable(["a"] * 2, ["a"] * 3)


def test_another_number_of_source_lines_is_named_and_so_is_the_side():
    with pytest.raises(UserError, match="2 baseline lines and 3 source lines"):
        suspicions.require_scorable(["a"] * 2, ["a"] * 2, ["a"] * 3, side="baseline")


def test_no_lines_are_refused():
    with pytest.raises(UserError, match="nothing to score"):
        suspicions.require_scorable([], [])


def test_one_string_is_not_a_sequence_of_lines():
    with pytest.raises(TypeError):
        suspicions.require_scorable("ab", ["a", "b"])


@pytest.mark.parametrize("line", [None, b"a", ["a"]])
def test_what_is_no_text_is_named_with_its_line(line):
    for lines in ((["a", line], ["a", "b"]), (["a", "b"], ["a", line])):
        with pytest.raises(TypeError, match="expected text, got .* as line 2"):
            suspicions.require_scorable(*lines)


@pytest.mark.parametrize("side", ["hypothesis", "reference"])
def test_split_compounds_are_refused_by_side_and_line(side):
    plain, split = ["a", "b"], ["a", "x ##AT##-##AT## y"]
    lines = (split, plain) if side == "hypothesis" else (plain, split)
    with pytest.raises(UserError, match=f"{side} holds ##AT## in line 2"):
        suspicions.require_scorable(*lines)


@pytest.mark.parametrize(
    ("hypotheses", "remark"),
    [
        (["Ein Hund .", "Ja .", "Nein"], "hypothesis looks tokenised"),
        (["Er sagt &quot; ja &quot;", "Ja", "Nein"], "hypothesis looks tokenised"),
        (["Ein Hun@@ d", "Ja", "Nein"], "sub-word marks"),
        (["▁Ein ▁Hund", "Ja", "Nein"], "sub-word marks"),
        (['<seg id="1">Ein Hund</seg>', "Ja", "Nein"], "SGML"),
        (["", "Ja", "Nein"], "empty hypothesis lines: 1"),
        (["A dog", "Yes", "Nein"], "equal their source"),
        (["Hund", "Ja!", "Nein!"], "Is the hypothesis a copy"),
    ],
)
def test_suspicious_text_is_remarked_on(hypotheses, remark):
    notes = suspicions.find_suspicions(
        hypotheses, ["Hund", "Ja!", "Nein!"], ["A dog", "Yes", "No"]
    )
    assert len(notes) == 1
    assert remark in notes[0]


def test_plain_text_is_not_remarked_on():
    hypotheses = ["Mail an a@b.de.", "E = m · c², 3 < 5.", "Er lief . . .", "So ."]
    references = ["Mail an a@b.de!", "E = mc², 3 < 5.", "Er lief ...", "So."]
    assert suspicions.find_suspicions(hypotheses, references) == ()


def test_a_hundred_tokenised_lines_suffice_among_many():
    hypotheses = ["Ja ."] * 100 + ["Nein."] * 900
    assert "100 lines" in suspicions.find_suspicions(hypotheses, ["Ja."] * 1000)[0]
    assert not suspicions.find_suspicions(hypotheses[1:], ["Ja."] * 999)


REFERENCES = [f"Der Hund {n} schläft heute in dem kleinen Haus." for n in range(20)]


@pytest.mark.parametrize(
    ("hypotheses", "remark"),
    [
        ([""] * 20, "All 20 hypothesis lines are empty"),
        (["  "] * 20, "All 20 hypothesis lines are empty"),
        (["Ein Mann."] * 20, "20 of 20 hypothesis lines are the same: 'Ein Mann.'"),
        (["Ein Mann."] * 12 + REFERENCES[12:], "12 of 20 hypothesis lines are the sa"),
        (["Ein Mann."] * 12 + [""] * 8, "12 of 20 hypothesis lines are the same"),
        (["und " * n for n in range(5, 25)], "20 of 20 hypothesis lines repeat"),
        ([f"{n} Mann in einem{' in einem' * 6}" for n in range(20)], "20 of 20 hyp"),
        (
            REFERENCES[:17] + ["ผมชอบ" * n for n in (5, 6, 7)],
            "3 of 20 hypothesis lines",
        ),
    ],
)
def test_translations_that_say_nothing_are_remarked_on(hypotheses, remark):
    assert remark in " ".join(suspicions.find_degeneration(hypotheses, REFERENCES))
    notes = suspicions.find_suspicions(hypotheses, REFERENCES)
    assert any(remark in note for note in notes)


def test_what_the_references_repeat_may_be_repeated():
    lines = ["Ja."] * 15 + ["- " * 20] * 5
    assert not suspicions.find_degeneration(lines, lines)
    assert not suspicions.find_degeneration(REFERENCES, REFERENCES)


def test_one_line_that_loops_among_many_is_not_remarked_on():
    hypotheses = ["und " * 20, *REFERENCES[1:]]
    assert not suspicions.find_degeneration(hypotheses, REFERENCES)


def test_each_reference_is_looked_at():
    notes = suspicions.find_suspicions(
        REFERENCES, REFERENCES[::-1], more_references=[[""] * 20]
    )
    assert notes == ("empty reference lines: 20, scored as such.",)
