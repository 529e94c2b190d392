"""Scores of the grammar corpus's suite."""

from transformer_jax.evaluation.phenomenon_scores import is_right, score_phenomena
from transformer_jax.grammar.phenomena import (
    PHENOMENA,
    PhenomenonExample,
    phenomenon_examples,
)

STREET = "Das Tier überquerte die Straße nicht, weil sie zu breit war."
PRONOUN = PhenomenonExample("…", STREET, ("weil", "sie"))
BANK = PhenomenonExample("…", "Sie sah das Ufer.", ("Ufer",), ("Bank", "Banken"))
FINAL = PhenomenonExample("…", "Er lacht, weil sie schläft.", ("schläft", "."))


def test_the_decisive_words_have_to_follow_one_another():
    assert is_right(PRONOUN, STREET)
    assert not is_right(PRONOUN, STREET.replace("weil sie", "weil es"))
    assert not is_right(PRONOUN, "Sie lacht, weil der Hund sie sah.")


def test_the_verb_has_to_close_its_clause():
    assert is_right(FINAL, "Er lacht, weil sie schläft.")
    assert not is_right(FINAL, "Er lacht, weil sie schläft heute.")
    assert not is_right(FINAL, "Er lacht, weil sie schläft")


def test_a_word_of_the_contrast_makes_it_wrong():
    assert is_right(BANK, "Sie sah das Ufer.")
    assert not is_right(BANK, "Sie sah das Ufer der Bank.")
    assert not is_right(BANK, "Sie sah die Bank.")
    assert not is_right(BANK, "Sie sah das Uferchen.")


def test_shares_are_counted_by_phenomenon():
    examples = {"pronoun": [PRONOUN, PRONOUN, PRONOUN], "word_sense": [BANK, BANK]}
    answers = [STREET, "Falsch.", STREET, BANK.target, BANK.target]
    scores = score_phenomena(lambda sources: answers, examples)
    assert scores.shares == {"pronoun": 2 / 3, "word_sense": 1.0}
    assert scores.as_dict()["pronoun"] == {"share": 2 / 3, "num_examples": 3}
    assert scores.table().splitlines() == [
        "phenomenon   right  examples",
        "----------  ------  --------",
        "pronoun      66.7%         3",
        "word sense  100.0%         2",
    ]


def test_the_references_of_every_phenomenon_are_right():
    examples = {name: phenomenon_examples(name, 30, seed=7) for name in PHENOMENA}
    targets = {e.source: e.target for group in examples.values() for e in group}
    scores = score_phenomena(lambda sources: [targets[s] for s in sources], examples)
    assert scores.shares == dict.fromkeys(PHENOMENA, 1.0)


def test_the_other_reading_is_wrong():
    swap = {"er": "sie", "sie": "es", "es": "er"}
    for example in phenomenon_examples("pronoun", 30, seed=7):
        conjunction, pronoun = example.decisive
        other = f"{conjunction} {swap[pronoun]}"
        translation = example.target.replace(" ".join(example.decisive), other)
        assert not is_right(example, translation)
