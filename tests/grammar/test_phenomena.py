"""Examples of phenomena: where they come from, how far apart their words stand."""

import pytest

from transformer_jax.grammar import lexicon, modals
from transformer_jax.grammar.german_forms import HABEN, WERDEN
from transformer_jax.grammar.phenomena import PHENOMENA, phenomenon_examples
from transformer_jax.grammar.splits import split_of


@pytest.mark.parametrize("name", PHENOMENA)
def test_phenomena_come_from_the_held_out_part(name):
    examples = phenomenon_examples(name, 20, seed=1)
    assert len({example.source for example in examples}) == 20
    assert {split_of(example.source) for example in examples} == {"test"}
    assert examples == phenomenon_examples(name, 20, seed=1)


def finite_forms():
    verbs = [verb.german for verb in (*lexicon.verbs(), lexicon.BE)]
    tables = [forms for verb in verbs for forms in (verb.present, verb.past)]
    tables += [forms for modal in modals.MODALS for forms in modal.german]
    return {form for forms in (*tables, HABEN.present, WERDEN) for form in forms}


@pytest.mark.parametrize("distance", [3, 6, 9])
def test_the_distance_of_verb_and_closing_word_can_be_set(distance):
    for example in phenomenon_examples("long_distance", 5, 1, distance=distance):
        words = example.target.strip(".").split()
        assert words[-1] == example.decisive[0]
        assert words[-2 - distance] in finite_forms()


@pytest.mark.parametrize("distance", [3, 7])
def test_the_distance_of_subject_and_verb_can_be_set(distance):
    subjects = {
        form for n in lexicon.nouns() for form in (n.german[0][0], n.german[1][0])
    }
    for example in phenomenon_examples("agreement", 5, 1, distance=distance):
        words = [word.strip(",.") for word in example.target.split()]
        position = words.index(example.decisive[0])
        assert words[position - distance - 1] in subjects


def test_an_unknown_phenomenon_or_distance_is_an_error():
    with pytest.raises(ValueError, match="unknown phenomenon 'irony'"):
        phenomenon_examples("irony", 3, 1)
