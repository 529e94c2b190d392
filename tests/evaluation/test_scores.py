"""Scores against published values, and the paper's tokenisation by hand."""

import json
import math
import pathlib
import subprocess
import sys

import pytest

from transformer_jax.errors import UserError
from transformer_jax.evaluation import scores
from transformer_jax.language_codes import normalise_language


def _read(path: pathlib.Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


@pytest.fixture(scope="module")
def files(test_data):
    return {path.name: _read(path) for path in (test_data / "bleu").glob("*.de")}


@pytest.fixture(scope="module")
def expected(test_data):
    return json.loads((test_data / "bleu" / "expected.json").read_text())


def test_every_score_of_the_example_matches_its_right_value(files, expected):
    found = scores.score(files["hypothesis.de"], files["reference.de"], "de").as_dict()
    for name in ("sacrebleu", "chrf", "paper_bleu", "tokenised_lowercase_bleu"):
        assert found[name] == pytest.approx(expected[name], abs=0.01), name
    assert found["num_sentences"] == expected["num_sentences"]
    assert found["sacrebleu_signature"].startswith(expected["sacrebleu_signature"])
    assert found["notes"] == []
    json.dumps(found)


def test_the_example_without_the_split_matches_its_right_value(files, expected):
    value = scores.multi_bleu(
        scores.tokenise(scores.replace_punctuation(files["hypothesis.de"]), "de"),
        scores.tokenise(files["reference.de"], "de"),
    )
    assert value == pytest.approx(expected["tokenised_bleu"], abs=0.01)


def test_tokenising_and_splitting_gives_the_files_of_the_paper_script(files):
    hypotheses = scores.replace_punctuation(files["hypothesis.de"])
    hypotheses = scores.split_compounds(scores.tokenise(hypotheses, "de"))
    references = scores.split_compounds(scores.tokenise(files["reference.de"], "de"))
    assert hypotheses == files["hypothesis.tok.atat.de"]
    assert references == files["reference.tok.atat.de"]


@pytest.mark.parametrize(
    ("line", "split"),
    [
        ("rich-text format", "rich ##AT##-##AT## text format"),
        ("a-b-c", "a ##AT##-##AT## b-c"),
        ("one-two-three", "one ##AT##-##AT## two ##AT##-##AT## three"),
        ("er - sie", "er - sie"),
        ("x- und y-", "x- und y-"),
        ("-5", "-5"),
        ("a--b", "a ##AT##-##AT## -b"),
        ("Größe-Übung", "Größe ##AT##-##AT## Übung"),
        ("", ""),
    ],
)
def test_compounds_split_at_hyphens_without_overlap(line, split):
    assert scores.split_compounds([line]) == [split]


def test_splitting_twice_is_refused():
    once = scores.split_compounds(["x-y"])
    with pytest.raises(UserError, match="already split"):
        scores.split_compounds(once)


def test_punctuation_is_replaced_in_the_hypothesis_and_not_in_the_reference():
    german = "„Ja“, sagte sie und ging."
    found = scores.score([german] * 3, [german] * 3, "de")
    assert found.sacrebleu == pytest.approx(100)
    assert found.paper_bleu < 100
    assert scores.replace_punctuation(["„Ja“ … ’s１"]) == ["„Ja\" ... 's1"]


def test_multi_bleu_follows_the_definition():
    # Matches 5/6, 3/5, 2/4, 1/3; the reference has two tokens more.
    value = scores.multi_bleu(["a b c d x f"], ["a b c d e f g h"])
    precisions = 5 / 6 * 3 / 5 * 2 / 4 * 1 / 3
    assert value == pytest.approx(100 * math.exp(1 - 8 / 6) * precisions**0.25)


def test_multi_bleu_does_not_smooth():
    assert scores.multi_bleu(["a b c x"], ["a b c d"]) == 0


def test_case_counts_except_in_the_lower_cased_score():
    found = scores.score(["das ist EIN Haus ."], ["Das ist ein Haus ."], "de")
    assert found.tokenised_lowercase_bleu == pytest.approx(100)
    assert found.paper_bleu < 100
    assert found.sacrebleu < 100


def test_an_empty_hypothesis_lowers_the_score_and_is_counted():
    lines = ["Ein Hund läuft über das Gras.", "Eine Frau liest ein Buch im Park."]
    full = scores.score(lines, lines, "de")
    half = scores.score([lines[0], ""], lines, "de")
    assert full.paper_bleu == pytest.approx(100)
    assert half.num_sentences == 2
    # All precisions are 1; 7 tokens against 7 + 8 leave the brevity penalty alone.
    assert half.paper_bleu == pytest.approx(100 * math.exp(1 - 15 / 7))
    assert any("empty hypothesis lines: 1" in note for note in half.notes)


def test_compounds_are_split_for_german_alone():
    hypotheses = ["a T-shirt and a hat lie here"]
    references = ["a T-shirt and a cap lie here"]
    german = scores.score(hypotheses, references, "de")
    french = scores.score(hypotheses, references, "fr")
    assert "split:hyphens" in german.paper_bleu_signature
    assert "split:no" in french.paper_bleu_signature
    assert german.paper_bleu > french.paper_bleu
    assert french.paper_bleu == pytest.approx(
        scores.multi_bleu(hypotheses, references), abs=1e-9
    )


@pytest.mark.parametrize("language", ["zh", "zh-Hant", "th"])
def test_the_paper_score_is_not_defined_without_spaces(language):
    line = "我喜欢读书和写字。"
    found = scores.score([line, line], [line, line[::-1]], language)
    assert found.paper_bleu is None
    assert found.tokenised_lowercase_bleu is None
    assert any("not defined" in note for note in found.notes)
    assert ("tok:zh" in found.sacrebleu_signature) == language.startswith("zh")
    assert json.loads(json.dumps(found.as_dict()))["paper_bleu"] is None
    assert "none" in found.table()


@pytest.mark.parametrize(("language", "extra"), [("ja", "japanese"), ("ko", "korean")])
def test_a_missing_tokenizer_names_the_extra_that_brings_it(
    monkeypatch, language, extra
):
    def refuse(**_):
        raise RuntimeError("no mecab")

    monkeypatch.setattr(scores.sacrebleu, "BLEU", refuse)
    with pytest.raises(UserError, match=rf"transformer-jax\[{extra}\]"):
        scores.score(["x"], ["x"], language)


@pytest.mark.parametrize("given", ["de", "DE", "de-AT", "de_DE.UTF-8", "deu", " ger "])
def test_a_language_is_known_by_any_of_its_codes(given):
    assert normalise_language(given) == "de"


def test_a_language_name_is_refused():
    for given in ("german", None):
        with pytest.raises(UserError, match=f"{given!r}.*such as de"):
            normalise_language(given)


def test_no_number_stands_beside_the_bare_word_bleu():
    lines = ["Das ist ein kleines Haus."]
    table = scores.score(lines, lines, "de").table()
    rows = table.splitlines()[2:6]
    assert [row[:30].split("  ")[0] for row in rows] == [
        "sacreBLEU",
        "chrF2",
        "paper's BLEU",
        "lower-cased tokenised BLEU",
    ]
    assert (
        "mixed" in rows[2] and "moses-de" in rows[2] and "split at hyphens" in rows[2]
    )
    assert "lower" in rows[3] and "whole" in rows[3]
    assert "sentences: 1" in table


def test_scores_are_rounded_to_four_decimals_in_json_and_two_in_print():
    found = scores.Scores(
        1 / 3, "case:mixed|tok:13a", 2 / 3, "case:mixed", *[None] * 4, 1
    )
    assert found.as_dict()["sacrebleu"] == 0.3333
    assert "0.33 " in found.table() and "0.67 " in found.table()


def test_several_references_score_as_by_sacrebleus_own_command(files, tmp_path):
    hypotheses, references = files["hypothesis.de"], files["reference.de"]
    others = [line.replace("der", "die").replace(" - ", ", ") for line in references]
    texts = {"h": hypotheses, "a": references, "b": others}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    command = "-m sacrebleu a b -i h -m bleu chrf -w 4".split()
    result = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, check=True
    )
    bleu, chrf = json.loads(result.stdout)
    found = scores.score(hypotheses, references, "de", more_references=[others])
    assert found.as_dict()["sacrebleu"] == bleu["score"]
    assert found.as_dict()["chrf"] == chrf["score"]
    assert found.sacrebleu_signature == bleu["signature"]
    assert found.chrf_signature == chrf["signature"]
    assert f"ratio = {found.length_ratio:.3f}" in bleu["verbose_score"]
    assert f"BP = {found.brevity_penalty:.3f}" in bleu["verbose_score"]
    # The scores of the paper's kind take either reference, too, and say so.
    alone = scores.score(hypotheses, references, "de")
    assert found.paper_bleu > alone.paper_bleu
    assert "|nrefs:2|" in found.paper_bleu_signature
    assert "nrefs" not in alone.paper_bleu_signature


def test_each_of_several_references_has_a_line_for_each_line():
    with pytest.raises(UserError, match="2 hypothesis lines and 1 reference"):
        scores.score(["a"] * 2, ["a"] * 2, "de", more_references=[["a"]])


def test_what_is_short_is_said_in_the_table_in_json_and_in_a_note():
    references = ["Ein Hund läuft über das Gras.", "Eine Frau liest ein Buch im Park."]
    whole = scores.score(references, references, "de")
    assert (whole.brevity_penalty, whole.length_ratio) == (1, 1)
    assert not any("brevity" in note for note in whole.notes)
    found = scores.score(["Ein Hund läuft", references[1]], references, "de")
    # 11 of 15 tokens.
    assert found.as_dict()["length_ratio"] == 0.7333
    assert found.as_dict()["brevity_penalty"] == round(math.exp(1 - 15 / 11), 4)
    assert "brevity penalty: 0.695, length ratio: 0.733\n" in found.table()
    assert any("hypothesis has 0.733 of the ref" in note for note in found.notes)


def test_what_has_no_four_grams_has_no_score_but_a_reason():
    found = scores.score(["Der Hund", "Die Katze"], ["Der Hund!", "Die Katze!"], "de")
    assert found.as_dict()["sacrebleu"] == 0
    assert found.as_dict()["has_four_grams"] is False
    rows = found.table().splitlines()
    assert "0.00" not in found.table()
    assert all("no four-grams to count" in rows[number] for number in (2, 4, 5))
    assert any("has four tokens" in note for note in found.notes)


def test_chrf_of_0_is_a_score_for_it_counts_no_four_grams():
    rows = scores.score(["xyz"], ["Der Hund"], "de").table().splitlines()
    assert rows[3].split()[:4] == ["chrF2", "0.00", "mixed", "characters"]


def test_a_score_of_0_for_want_of_smoothing_says_so():
    found = scores.score(
        ["Der Hund sah da die Katze"], ["Der Hund sah die Katze"], "de"
    )
    assert found.paper_bleu == 0 < found.sacrebleu
    assert any("it is not smoothed" in note for note in found.notes)
