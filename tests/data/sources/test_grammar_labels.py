"""The built-in corpus with labels: what is said of its texts is true."""

import collections

import pytest

from transformer_jax.data.labels import labels_from
from transformer_jax.data.sources import SOURCES
from transformer_jax.data.sources.grammar_labels import GrammarLabelSettings
from transformer_jax.data.text_source import OpenRequest
from transformer_jax.errors import UserError
from transformer_jax.grammar import labelled

SIZES = {"num_train_texts": 60, "num_validation_texts": 20, "num_test_texts": 20}


def _open(
    question, labels, num_sentences=1, seed=0, is_of_words=False, language="en", **sizes
):
    settings = GrammarLabelSettings(question, **SIZES | sizes)
    names = labels_from(labels, is_of_words=is_of_words)
    request = OpenRequest((language,) * num_sentences, seed, None, names)
    return SOURCES["grammar_labels"].open_splits(settings, request)


def _texts(split):
    return list(split.all_texts())


def test_a_pronoun_that_could_mean_both_means_what_its_label_says():
    splits = _open("antecedent", "subject,object")
    texts = [text for split in splits.values() for text in _texts(split)]
    assert collections.Counter(label for _, label in texts) == {
        "subject": 50,
        "object": 50,
    }
    assert len(set(texts)) == 100
    for sentence, label in texts:
        assert " it " in sentence or " he " in sentence or " she " in sentence
        # Of these pairs of adjectives one says why a thing does not go into another.
        if "fit into" in sentence and "too" in sentence:
            assert ("too small" in sentence) <= (label == "object")
            assert ("too big" in sentence) <= (label == "subject")


def test_what_is_done_with_a_thing_comes_after_it_is_had():
    texts = _texts(_open("order", "no,yes", num_sentences=2)["train"])
    assert collections.Counter(text[-1] for text in texts) == {"yes": 30, "no": 30}
    # Of "buy", "find", "steal", "see" and "look for".
    had = "buy bought find found steal stole see saw look".split()
    for *sentences, label in texts:
        first, second = sentences if label == "yes" else reversed(sentences)
        assert first.rsplit(" ", 1)[-1] == second.rsplit(" ", 1)[-1]
        assert any(f" {verb}" in first for verb in had)


def test_more_texts_begin_with_those_that_fewer_are():
    few = _texts(_open("antecedent", "subject,object")["train"])
    more = _open("antecedent", "subject,object", num_train_texts=80)["train"]
    assert _texts(more)[:60] == few and len(more) == 80
    other = _open("antecedent", "subject,object", seed=1)["train"]
    assert more.fingerprint() != other.fingerprint()


def test_other_labels_and_other_numbers_of_sentences_are_refused():
    with pytest.raises(UserError, match="has the labels subject,object; set"):
        _open("antecedent", "no,yes")
    with pytest.raises(UserError, match="about 2 sentences.*num_sentences=2"):
        SOURCES["grammar_labels"].check(GrammarLabelSettings("order"), ("en",))
    with pytest.raises(UserError, match="for each text, not for each word"):
        _open("antecedent", "subject,object", is_of_words=True)
    with pytest.raises(UserError, match="'de', but the questions are about English"):
        _open("antecedent", "subject,object", language="de")


def test_more_texts_than_there_are_is_an_error_with_advice(monkeypatch):
    monkeypatch.setattr(labelled, "_MAX_TRIES", 20)
    splits = _open("antecedent", "subject,object", num_test_texts=5_000)
    with pytest.raises(UserError, match="the test split has hardly more.*fewer than"):
        splits["test"].fingerprint()
