"""The paired bootstrap: sacreBLEU's numbers, the same each time, and its pitfalls."""

import dataclasses
import json
import logging
import os

import numpy as np
import pytest
import sacrebleu

from transformer_jax.errors import UserError
from transformer_jax.evaluation import significance
from transformer_jax.evaluation.scores import score

REFERENCES = [f"Der Hund {n} schläft heute in dem kleinen Haus." for n in range(11)]
# The baseline is wrong in every line, the hypothesis in the last three.
BASELINES = [line.replace("heute", "dort").replace("dem", "den") for line in REFERENCES]
HYPOTHESES = REFERENCES[:8] + BASELINES[8:]


def _compare(**changes):
    lines = {"hypotheses": HYPOTHESES, "baselines": BASELINES, "references": REFERENCES}
    options = {"target_language": "de", "num_samples": 50}
    return significance.compare(**{**lines, **options, **changes})


def test_the_interval_and_the_p_value_are_those_of_a_literal_bootstrap():
    comparison = _compare()
    assert [(s.metric, s.system) for s in comparison.scores] == [
        ("sacreBLEU", "baseline"),
        ("sacreBLEU", "hypothesis"),
        ("chrF2", "baseline"),
        ("chrF2", "hypothesis"),
    ]
    rng = np.random.default_rng(12345)
    draws = rng.choice(11, size=(50, 11), replace=True)

    def bleu(lines, draw):
        references = [REFERENCES[i] for i in draw]
        return sacrebleu.corpus_bleu([lines[i] for i in draw], [references]).score

    ours, theirs = (
        np.array([bleu(lines, draw) for draw in draws])
        for lines in (HYPOTHESES, BASELINES)
    )
    baseline, hypothesis = comparison.scores[:2]
    # One in forty of the 50 sorted scores goes at each end, which leaves 2nd to 49th.
    for result, scores in ((hypothesis, ours), (baseline, theirs)):
        ordered, mean = np.sort(scores), scores.mean()
        half = (ordered[48] - ordered[1]) / 2
        np.testing.assert_allclose(result.mean, mean, rtol=1e-5)
        np.testing.assert_allclose(
            result.interval, (mean - half, mean + half), rtol=1e-5
        )
    gaps = np.abs(ours - theirs)
    stray = np.sum(gaps - gaps.mean() > hypothesis.score - baseline.score)
    assert hypothesis.p_value == (stray + 1) / 51
    assert baseline.p_value is None


def test_scores_and_signatures_are_those_of_one_system_alone():
    comparison = _compare()
    alone = score(HYPOTHESES, REFERENCES, "de")
    by_metric = {s.metric: s for s in comparison.scores if s.system == "hypothesis"}
    assert by_metric["sacreBLEU"].score == pytest.approx(alone.sacrebleu, abs=1e-4)
    assert by_metric["chrF2"].score == pytest.approx(alone.chrf, abs=1e-4)
    bare = by_metric["sacreBLEU"].signature.replace("bs:50|seed:12345|", "")
    assert bare == alone.sacrebleu_signature


def test_the_result_does_not_hang_on_the_environment(monkeypatch):
    expected = _compare()
    monkeypatch.setenv("SACREBLEU_SEED", "none")
    assert _compare() == expected
    assert os.environ["SACREBLEU_SEED"] == "none"


def test_sacrebleu_keeps_its_messages_to_itself(caplog, capsys):
    with caplog.at_level(logging.INFO):
        _compare()
    assert caplog.messages == []
    assert capsys.readouterr() == ("", "")


def test_the_table_and_the_json_hold_both_systems():
    comparison = _compare()
    printed = json.loads(json.dumps(comparison.as_dict()))
    assert [s["system"] for s in printed["scores"]] == ["baseline", "hypothesis"] * 2
    assert printed["scores"][0]["p_value"] is None
    assert len(printed["scores"][0]["interval"]) == 2
    assert printed["seed"] == 12345 and printed["num_samples"] == 50
    table = comparison.table()
    assert "50 samples, seed 12345" in table
    assert "sacreBLEU: nrefs:1|bs:50|seed:12345|case:mixed" in table


def test_the_same_translations_are_no_two_systems():
    with pytest.raises(UserError, match="the same 11 lines"):
        _compare(baselines=HYPOTHESES)


def test_equal_scores_of_different_lines_are_no_certain_difference():
    comparison = _compare(baselines=[line + " " for line in HYPOTHESES])
    assert [s.p_value for s in comparison.scores] == [None] * 4
    assert "The sacreBLEU of both is equal" in comparison.table()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baselines": BASELINES[1:]}, "10 baseline lines and 11 reference"),
        ({"hypotheses": HYPOTHESES[1:]}, "10 hypothesis lines and 11 reference"),
        ({"sources": ["a"]}, "11 hypothesis lines and 1 source"),
        ({"num_samples": 0}, "over 0 samples"),
    ],
)
def test_what_cannot_be_compared_is_said(changes, message):
    with pytest.raises(UserError, match=message):
        _compare(**changes)


def test_a_warning_names_the_system_that_it_is_about():
    note, few = _compare(baselines=[f"{line[:-1]} ." for line in REFERENCES]).notes
    assert "The baseline looks tokenised" in note
    assert "11 lines are few" in few


def test_a_single_line_gives_no_p_value():
    comparison = significance.compare(
        ["Ja doch ."], ["Nein ."], ["Ja ."], "de", num_samples=20
    )
    assert [score.p_value for score in comparison.scores] == [None] * 4
    assert any("No draw has another chrF2" in note for note in comparison.notes)


def test_several_references_are_used_and_what_is_short_is_remarked_on():
    others = [line.replace("kleinen", "großen") for line in REFERENCES]
    short = [line[:-20] for line in BASELINES]
    comparison = _compare(more_references=[others], baselines=short)
    assert all("nrefs:2" in score.signature for score in comparison.scores)
    alone = score(HYPOTHESES, REFERENCES, "de", more_references=[others])
    assert comparison.scores[1].score == alone.sacrebleu
    assert any("The baseline has 0." in note for note in comparison.notes)
    assert comparison.scores[1].brevity_penalty == alone.brevity_penalty
    assert comparison.as_dict()["scores"][0]["length_ratio"] < 0.9
    assert "brevity penalty  length ratio" in comparison.table()
    assert not any("The hypothesis has" in note for note in comparison.notes)


@pytest.mark.parametrize(
    ("p_value", "shown"),
    [(0.004995, "0.005"), (0.5, "0.500"), (0.0001, "<0.001"), (1.0, "1.000")],
)
def test_p_values_have_three_decimals_in_the_table(p_value, shown):
    comparison = _compare()
    baseline, hypothesis, *_ = comparison.scores
    hypothesis = dataclasses.replace(hypothesis, p_value=p_value)
    table = dataclasses.replace(comparison, scores=(baseline, hypothesis)).table()
    assert f"  {shown}  " in table.splitlines()[3]
