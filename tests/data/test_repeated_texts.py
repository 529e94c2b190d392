"""Held-out texts that are trained on too are found, by what the model sees of them."""

import pytest

from transformer_jax.data import repeated_texts
from transformer_jax.data.repeated_texts import count_repetitions
from transformer_jax.data.sources.text_files import TextFiles
from transformer_jax.data.token_cache import build_token_cache
from transformer_jax.data.tokenizer import Tokenizer, train_tokenizer

TRAIN = [(f"a dog {i}", f"ein Hund {i}") for i in range(40)]


@pytest.fixture
def count(tmp_path):
    def count_in(train, splits, num_sides=2):
        lines = [line for pair in train for line in pair]
        train_tokenizer(lines, tmp_path / "model", vocab_size=290)
        tokenizers = (Tokenizer(tmp_path / "model"),) * num_sides
        paths = []
        for side in range(num_sides):
            paths.append(tmp_path / f"side{side}")
            paths[-1].write_text("".join(f"{pair[side]}\n" for pair in train))
        cache = build_token_cache(
            TextFiles(*([path] for path in paths)),
            tokenizers,
            tmp_path / f"cache{num_sides}",
            max_length=60,
            num_threads=1,
            shard_size=7,
        )
        sides = {
            split: list(zip(*texts, strict=True))[:num_sides]
            for split, texts in splits.items()
        }
        return count_repetitions(cache, sides, tokenizers)

    return count_in


@pytest.mark.parametrize("at_once", [3, 1 << 16])
def test_pairs_are_counted_wherever_they_stand(count, monkeypatch, at_once):
    monkeypatch.setattr(repeated_texts, "_TEXTS_AT_ONCE", at_once)
    splits = {
        "validation": [TRAIN[0], TRAIN[39], TRAIN[0], ("a dog 1", "ein Hund 2")],
        "test": [("  a dog  8", "ein Hund 8 "), ("new", "neu"), ("", "")],
    }
    counted = count(TRAIN, splits)
    assert {name: found.in_training for name, found in counted.items()} == {
        "train": 0,
        "validation": 3,
        "test": 1,
    }
    assert counted["train"].num_texts == 40
    assert counted["validation"].describe("validation") == (
        "3 of 4 validation pairs are also in the training text: a score counts them as "
        "if they were new.",
    )
    assert counted["train"].describe("train") == ()


def test_what_filtering_dropped_is_not_trained_on(count):
    long = ("word " * 70, "Wort " * 70)
    counted = count([*TRAIN, long], {"test": [long, TRAIN[3]]})
    assert counted["test"].in_training == 1


def test_the_same_text_on_both_sides_is_counted(count):
    same = [(line, line) for line, _ in TRAIN]
    counted = count([*same, *TRAIN[:30]], {"test": [same[0], ("", ""), TRAIN[31]]})
    assert counted["train"].equal_sides == 40
    assert counted["test"].equal_sides == 1
    (note,) = counted["train"].describe("train")
    assert note.startswith("40 of 70 train pairs have the same text on both sides.")
    assert not any("both sides" in note for note in counted["test"].describe("test"))


def test_single_lines_have_no_other_side(count):
    counted = count(TRAIN, {"test": [TRAIN[2], ("new", "")]}, num_sides=1)
    assert (counted["test"].in_training, counted["test"].equal_sides) == (1, 0)
    assert "1 of 2 test lines" in counted["test"].describe("test")[0]
