"""What an evaluation is called, and what belongs together in one."""

import os

import pytest

from transformer_jax.config import default
from transformer_jax.decoding.translator import TranslatorSettings
from transformer_jax.errors import UserError
from transformer_jax.runs import run_evaluation

SETTINGS = TranslatorSettings(
    beam_size=4,
    alpha=0.6,
    length_penalty="gnmt",
    max_extra_length=50,
    max_source_length=256,
    tokens_per_batch=4_096,
)


@pytest.mark.parametrize(
    ("steps", "weights"),
    [
        ((30,), "step-30"),
        ((20, 30), "average2-20-30"),
        ((10, 20, 30), "average3-10-30"),
        ((10, 30), "average2-10-30"),
    ],
)
def test_an_evaluation_is_named_after_text_weights_and_search(steps, weights):
    name = run_evaluation.evaluation_name("test", steps, SETTINGS)
    assert name == f"test.{weights}.beam4.gnmt0.6"


def test_means_over_different_steps_never_share_a_name():
    choices = [(10, 20, 40), (10, 30, 40), (10, 25, 40), (20, 30, 40)]
    names = {
        run_evaluation.evaluation_name("test", steps, SETTINGS) for steps in choices
    }
    assert len(names) == len(choices)


def test_namesakes_splits_and_extra_scores_have_names_of_their_own(tmp_path):
    texts = ["test", *map(run_evaluation.file_name, ("a/test", "b/test", "test"))]
    extras = [(), ("comet",), ("phenomena", "comet")]
    names = {
        run_evaluation.evaluation_name(text, (30,), SETTINGS, extra)
        for text in texts
        for extra in extras
    }
    assert len(names) == len(texts) * len(extras)
    assert run_evaluation.file_name("a/../b/test") == texts[2]


def test_a_pipe_is_named_after_its_lines(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path / "fifo"), "-", "/dev/fd/63"):
        names = {run_evaluation.file_name(path, [line]) for line in "aba"}
        assert len(names) == 2


@pytest.mark.parametrize(
    ("fields", "split", "expected"),
    [
        ({"source": "grammar"}, "test", "grammar test (3003 lines)"),
        ({"test_source": "a/flickr.en"}, "test", "flickr.en (3003 lines)"),
        ({"test_source": "newstest2014.en"}, "test", "newstest2014 (full)"),
        (
            {"test_source": "newstest2014.en,more.en"},
            "test",
            "files test (3003 lines)",
        ),
        (
            {"source": "tfds", "tfds": {"name": "wmt14_translate/fr-en"}},
            "test",
            "newstest2014 (full)",
        ),
        (
            {"source": "tfds", "tfds": {"directory": "x/ted/1.0.0"}},
            "validation",
            "x/ted/1.0.0 validation (3003 lines)",
        ),
    ],
)
def test_a_split_is_named_after_what_the_config_says_it_is_of(fields, split, expected):
    data = default.get_config().data
    data.update(fields)
    assert str(run_evaluation.name_split_or_file(data, split, None, 3003)) == expected
    other = run_evaluation.name_split_or_file(data, split, "b/other.en", 3003)
    assert str(other) == "other.en (3003 lines)"


def test_the_filtered_test_set_is_known_by_any_codes_of_its_languages():
    data = default.get_config().data
    data.update(source_language="eng", target_language="de_DE")
    text = run_evaluation.name_split_or_file(data, "test", "newstest2014.en", 2737)
    assert str(text) == "newstest2014 (filtered)"


def test_two_sides_of_different_length_are_refused_by_name(tmp_path):
    source, reference = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("one\n")
    reference.write_text("eins\nzwei\n")
    with pytest.raises(UserError, match=r"a\.en has 1 lines, .*a\.de has 2"):
        run_evaluation.read_aligned(str(source), str(reference))
