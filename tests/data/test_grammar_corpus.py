"""The corpus as a whole: splits, determinism, one German for each English sentence."""

import random
import re

import pytest

from transformer_jax.data.grammar import english, german, lexicon, modals, sentences
from transformer_jax.data.grammar.german_forms import HABEN, WERDEN
from transformer_jax.data.grammar.phenomena import PHENOMENA, phenomenon_examples
from transformer_jax.data.grammar.splits import MAX_WORDS, MAX_WORDS_LONG, split_of
from transformer_jax.data.sources.grammar import GrammarPairs
from transformer_jax.errors import UserError

SPLITS = ("train", "validation", "test", "long")


@pytest.fixture(scope="module")
def pairs():
    sizes = (3000, 200, 300, 100)
    return {
        split: list(GrammarPairs(split, size, seed=3).all_texts())
        for split, size in zip(SPLITS, sizes, strict=True)
    }


def test_a_pair_depends_on_split_seed_and_index_alone(pairs):
    for split in SPLITS:
        again = GrammarPairs(split, 70, seed=3)
        for index in (69, 0, 7):
            assert again[index] == pairs[split][index]
    assert GrammarPairs("train", 1, seed=4)[0] != pairs["train"][0]


def test_no_english_sentence_is_in_two_splits(pairs):
    for split in ("train", "validation", "test"):
        assert {split_of(source) for source, _ in pairs[split]} == {split}
    sources = [{source for source, _ in pairs[split]} for split in SPLITS]
    assert len(set.union(*sources)) == sum(map(len, sources))


def test_held_out_sentences_are_distinct_and_training_rarely_repeats(pairs):
    for split in SPLITS[1:]:
        assert len(dict(pairs[split])) == len(pairs[split])
    assert len(dict(pairs["train"])) > 0.99 * len(pairs["train"])


def test_long_sentences_are_longer_than_any_in_training(pairs):
    for split in SPLITS:
        for pair in pairs[split]:
            lengths = [len(text.split()) for text in pair]
            if split == "long":
                assert MAX_WORDS < min(lengths) and max(lengths) <= MAX_WORDS_LONG
            else:
                assert max(lengths) <= MAX_WORDS


def test_sentences_are_of_moderate_length(pairs):
    lengths = [len(target.split()) for _, target in pairs["train"]]
    assert 9 < sum(lengths) / len(lengths) < 12


def test_an_english_sentence_has_one_german_translation():
    rng = random.Random(5)
    seen = {}
    for _ in range(30_000):
        sentence = sentences.sentence(rng)
        target = german.say_sentence(sentence)
        assert seen.setdefault(english.say_sentence(sentence), target) == target


def test_punctuation_and_capitals_are_in_place(pairs):
    for group in pairs.values():
        for text in (text for pair in group for text in pair):
            assert re.fullmatch(r"[A-ZÄÖÜ][\w']*(,? [\w']+)*[.?]", text), text


def test_contractions_and_elisions_are_made(pairs):
    targets = " ".join(target for group in pairs.values() for _, target in group)
    for melted in ("im", "ins", "am", "zum", "zur"):
        assert f" {melted} " in targets
    # Only a relative clause keeps the article whole.
    assert not re.search(r"\b(in dem|an dem|zu dem|zu der) \w+[^\w,]", targets)


def test_subordinate_clauses_stand_between_commas(pairs):
    for _, target in pairs["train"]:
        assert not re.search(r"[^,] (weil|obwohl|dass|während|als) ", target), target


def words_of(pairs):
    return [word.strip(".,?").lower() for p in pairs for t in p for word in t.split()]


def test_the_words_of_the_test_split_are_seen_in_training(pairs):
    seen = set(words_of(pairs["train"]))
    held_out = words_of(pairs["test"])
    assert sum(word in seen for word in held_out) / len(held_out) > 0.98


def test_the_fingerprint_tells_corpora_apart():
    corpora = [
        GrammarPairs("train", 7, 1),
        GrammarPairs("train", 7, 2),
        GrammarPairs("train", 8, 1),
        GrammarPairs("test", 7, 1),
    ]
    assert len({corpus.fingerprint() for corpus in corpora}) == len(corpora)
    assert corpora[0].fingerprint() == GrammarPairs("train", 7, 1).fingerprint()


def test_wrong_arguments_are_errors():
    with pytest.raises(ValueError, match="no split 'dev'"):
        GrammarPairs("dev", 5)
    with pytest.raises(UserError, match="0 pairs of its test split"):
        GrammarPairs("test", 0)
    with pytest.raises(IndexError):
        GrammarPairs("train", 5)[5]


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
