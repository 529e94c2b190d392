"""A newstest is known by name and length; any other text by its own name."""

import pytest

from transformer_jax.evaluation import scores, significance
from transformer_jax.evaluation.scored_text import name_test_set

ENDE, ENFR = ("en", "de"), ("en", "fr")


@pytest.mark.parametrize(
    ("text", "num_lines", "languages", "expected"),
    [
        ("data/newstest2014.de", 3003, ENDE, "newstest2014 (full)"),
        ("data/newstest2014-deen-ref.de", 2737, ENDE, "newstest2014 (filtered)"),
        ("data/newstest2014.de", 2737, ["de"], "newstest2014 (filtered)"),
        ("NewsTest2014/test.fr", 3003, ENFR, "newstest2014 (full)"),
        ("data/newstest2014.fr", 2737, ENFR, "newstest2014 (incomplete)"),
        ("data/newstest2014.de", 500, ENDE, "newstest2014 (incomplete)"),
        ("newstest2014/newstest2013.de", 3000, ENDE, "newstest2013 (full)"),
        ("data/newstest2019.de", 1997, ENDE, "newstest2019.de (1997 lines)"),
        ("flickr/test_2016_flickr.de", 1000, ENDE, "test_2016_flickr.de (1000 lines)"),
    ],
)
def test_a_file_is_named_by_its_path_and_length(text, num_lines, languages, expected):
    assert str(name_test_set(text, num_lines, languages)) == expected


@pytest.mark.parametrize(
    ("data_set", "split", "num_lines", "expected"),
    [
        ("wmt14_translate/de-en", "test", 3003, "newstest2014 (full)"),
        ("wmt14_translate/de-en", "validation", 3000, "newstest2013 (full)"),
        ("dir/wmt14_translate/de-en/1.0.0", "test", 3003, "newstest2014 (full)"),
        ("wmt14_translate/de-en", "test", 30, "newstest2014 (incomplete)"),
        (
            "wmt16_translate/de-en",
            "test",
            2999,
            "wmt16_translate/de-en test (2999 lines)",
        ),
        ("grammar", "long", 100, "grammar long (100 lines)"),
    ],
)
def test_a_split_is_named_by_its_data_set(data_set, split, num_lines, expected):
    named = name_test_set(split, num_lines, ENDE, data_set=data_set)
    assert str(named) == expected


def test_only_an_incomplete_set_has_a_note_which_gives_the_right_lengths():
    assert name_test_set("newstest2014.de", 3003, ENDE).notes == ()
    (note,) = name_test_set("newstest2014.de", 3002, ENDE).notes
    assert "3003 lines, or 2737 in its filtered version; this text has 3002" in note
    (note,) = name_test_set("newstest2014.fr", 2737, ENFR).notes
    assert "has 3003 lines; this text has 2737" in note


def test_the_name_is_printed_with_the_scores_and_kept_in_the_json():
    text = name_test_set("newstest2014.de", 2, ENDE)
    lines = ["Ja, das ist gut.", "Nein, so nicht."]
    found = scores.score(lines, ["Oh, das ist gut.", lines[1]], "de", test_set=text)
    assert found.as_dict()["test_set"] == "newstest2014 (incomplete)"
    assert "sentences: 2, newstest2014 (incomplete)\n" in found.table()
    assert found.notes == text.notes
    comparison = significance.compare(
        ["Ja", "Nein"],
        ["Ja", "Na"],
        ["Ja.", "Nein."],
        "de",
        num_samples=2,
        test_set=text,
    )
    assert comparison.as_dict()["test_set"] == "newstest2014 (incomplete)"
    assert "sentences: 2, newstest2014 (incomplete)\n" in comparison.table()
    assert text.notes[0] in comparison.notes


def test_a_text_without_versions_is_printed_without_a_second_count():
    text = name_test_set("a/test.de", 1, ENDE)
    table = scores.score(["Ja"], ["Ja."], "de", test_set=text).table()
    assert "sentences: 1, test.de\n" in table
