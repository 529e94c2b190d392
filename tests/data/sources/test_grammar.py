"""The built-in corpus as a source, and its fingerprint: of what the grammar says."""

import ast
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import transformer_jax
from transformer_jax.data.sources.grammar import (
    GrammarPairs,
    content_hash,
    grammar_hash,
)
from transformer_jax.errors import UserError
from transformer_jax.grammar import english_forms, german_forms, lexicon, splits

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


def test_held_out_sentences_are_distinct_and_training_rarely_repeats(pairs):
    for split in SPLITS[1:]:
        assert len(dict(pairs[split])) == len(pairs[split])
    assert len(dict(pairs["train"])) > 0.99 * len(pairs["train"])


def test_wrong_arguments_are_errors():
    with pytest.raises(ValueError, match="no split 'dev'"):
        GrammarPairs("dev", 5)
    with pytest.raises(UserError, match="0 pairs of its test split"):
        GrammarPairs("test", 0)
    with pytest.raises(IndexError):
        GrammarPairs("train", 5)[5]


def test_the_fingerprint_tells_corpora_apart():
    corpora = [
        GrammarPairs("train", 7, 1),
        GrammarPairs("train", 7, 2),
        GrammarPairs("train", 8, 1),
        GrammarPairs("test", 7, 1),
    ]
    assert len({corpus.fingerprint() for corpus in corpora}) == len(corpora)
    assert corpora[0].fingerprint() == GrammarPairs("train", 7, 1).fingerprint()


# Written down by runs when a fingerprint was of the grammar's files.
FINGERPRINTS = {
    ("train", 60): "402d5ade996f032813a30627bbaa9faeb75a4aeb9589b58e439b7e033693bba9",
    ("validation", 8): (
        "4693aa38abdec9e00a0f915d0419f1263b7b68f3f3befaae5c98e7f57a967937"
    ),
    ("test", 7): "1876d89bcd3ab37c44b5193e9dd7a8a8bc85e1a61630e86c65d5e62f74f93a9d",
    ("long", 7): "9a8556a7ea1ae529e9c1690ea9fcfada4cf0816ab4994a1461892bd65bd2ab37",
}


@pytest.fixture(scope="module")
def content():
    return content_hash()


@pytest.mark.parametrize(("arguments", "fingerprint"), FINGERPRINTS.items())
def test_runs_begun_with_a_hash_of_files_find_their_text_again(arguments, fingerprint):
    assert GrammarPairs(*arguments, seed=3).fingerprint() == fingerprint


def test_a_moved_and_reformatted_grammar_has_the_same_hash_and_needs_no_jax(
    content, tmp_path
):
    package = tmp_path / "transformer_jax"
    original = pathlib.Path(transformer_jax.__file__).parent
    shutil.copytree(original, package, ignore=shutil.ignore_patterns("__pycache__"))
    grammar = pathlib.Path(lexicon.__file__).parent.relative_to(original)
    (package / grammar).rename(package / "elsewhere")
    for path in [*package.glob("elsewhere/*.py"), *package.glob("data/sources/*.py")]:
        text = ast.unparse(ast.parse(path.read_text(encoding="utf-8")))
        moved = text.replace(lexicon.__package__, "transformer_jax.elsewhere")
        path.write_text(moved, encoding="utf-8")
    for path in package.glob("elsewhere/lexicon/*.tsv"):
        text = path.read_text(encoding="utf-8").replace("\n", "\n\n# A remark.\n")
        path.write_text(text, encoding="utf-8")
    program = (
        "import sys; from transformer_jax.data.sources.grammar import content_hash, "
        "lexicon; print(lexicon.__name__, content_hash(), 'jax' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONHASHSEED": "7"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == [
        "transformer_jax.elsewhere.lexicon",
        content,
        "False",
    ]


def test_one_changed_word_changes_the_hash(content, monkeypatch):
    text = lexicon.table_text

    def respelt(name):
        return text(name).replace("\tMann\t", "\tMan\t")

    monkeypatch.setattr(lexicon, "table_text", respelt)
    assert content_hash() != content


# Rules that few sentences show.
RULES = {
    "a contraction": (german_forms.CONTRACTIONS, "an dem", "an'm"),
    "a negation": (english_forms.NEGATED, "could", "could not"),
    "the longest sentence": (vars(splits), "MAX_WORDS_LONG", splits.MAX_WORDS_LONG - 1),
}


@pytest.mark.parametrize("rule", RULES)
def test_one_changed_rule_changes_the_hash(content, monkeypatch, rule):
    monkeypatch.setitem(*RULES[rule])
    assert content_hash() != content


def test_a_grammar_that_says_something_else_gets_another_fingerprint(monkeypatch):
    before = GrammarPairs("train", 60, seed=3).fingerprint()
    monkeypatch.setitem(*RULES["a negation"])
    grammar_hash.cache_clear()
    after = GrammarPairs("train", 60, seed=3).fingerprint()
    monkeypatch.undo()
    grammar_hash.cache_clear()
    assert after != before


def test_the_hash_goes_through_every_table():
    folder = pathlib.Path(lexicon.__file__).parent / "lexicon"
    assert set(lexicon.TABLES) == {path.stem for path in folder.glob("*.tsv")}
