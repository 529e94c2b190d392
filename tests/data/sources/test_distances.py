"""The source of pairs with a set distance: its splits, and what it refuses."""

import pytest

from transformer_jax.data.sources import SOURCES
from transformer_jax.data.sources.distances import DistanceSettings, distance_texts
from transformer_jax.data.text_source import OpenRequest
from transformer_jax.errors import UserError
from transformer_jax.grammar import distances

SETTINGS = DistanceSettings(
    most_distance=5,
    longest_distance=7,
    num_train_pairs=60,
    num_validation_pairs=12,
    num_test_pairs=24,
)


def open_splits(tmp_path, settings=SETTINGS, languages=("en", "de")):
    request = OpenRequest(languages, seed=3, index_directory=tmp_path)
    return SOURCES["distances"].open_splits(settings, request)


def distance_of(pair):
    words = pair[0].split()
    return words.index("it") - words.index("the") - 1


def test_longer_distances_than_in_training_are_a_split_of_their_own(tmp_path):
    splits = open_splits(tmp_path)
    assert {split: len(pairs) for split, pairs in splits.items()} == {
        "train": 60,
        "validation": 12,
        "test": 24,
        "long": 24,
    }
    for split, pairs in splits.items():
        distances = {distance_of(pair) for pair in pairs.all_texts()}
        assert distances == ({6, 7} if split == "long" else {2, 3, 4, 5})
    texts = [text for pairs in splits.values() for text in pairs.all_texts()]
    assert len(dict(texts)) == 60 + 12 + 24 + 24


def test_pairs_are_reached_by_number(tmp_path):
    pairs = open_splits(tmp_path)["test"]
    texts = list(pairs.all_texts())
    assert pairs[7] == texts[7]
    assert pairs.gather([5, 3]) == [texts[5], texts[3]]
    with pytest.raises(IndexError):
        pairs[24]


def test_one_language_may_be_asked_for(tmp_path):
    german = open_splits(tmp_path, languages=("de",))["test"]
    assert german[0] == open_splits(tmp_path)["test"][0][1:]
    with pytest.raises(UserError, match="'fr', but the grammar speaks en and de"):
        open_splits(tmp_path, languages=("fr",))


def test_the_fingerprint_tells_texts_apart():
    texts = [
        distance_texts("train", 60, range(2, 6), seed=3),
        distance_texts("train", 60, range(2, 6), seed=4),
        distance_texts("train", 60, range(2, 7), seed=3),
        distance_texts("test", 60, range(2, 6), seed=3),
    ]
    assert len({text.fingerprint() for text in texts}) == len(texts)
    assert (
        texts[0].fingerprint()
        == distance_texts("train", 60, range(2, 6), seed=3).fingerprint()
    )


@pytest.mark.parametrize("bounds", [(6, 5, 7), (2, 5, 5)])
def test_distances_that_do_not_rise_are_refused(bounds):
    settings = DistanceSettings(*bounds)
    with pytest.raises(
        UserError, match="least_distance=., most_distance=5 and .* rise"
    ):
        SOURCES["distances"].check(settings, ("en", "de"))


def test_more_pairs_than_there_are_is_an_error_with_advice(monkeypatch):
    monkeypatch.setattr(distances, "_MAX_TRIES", 20)
    with pytest.raises(UserError, match="^The test split .* Ask for fewer pairs"):
        distance_texts("test", 20_000, range(2, 3)).fingerprint()
