import dataclasses
import shutil

import pytest

from tests.data.sources.wmt14_archives import (
    NUM_LINES,
    NUM_TEST,
    NUM_VALIDATION,
    make_lines,
    prepare_wmt14,
)
from transformer_jax.data.sources.tfds_directory import (
    NotPreparedError,
    check_languages,
    open_prepared,
)
from transformer_jax.data.sources.tfds_pairs import (
    TfdsSettings,
    open_tfds,
    split_expressions,
)
from transformer_jax.data.sources.tfds_texts import TfdsTexts
from transformer_jax.data.text_source import OpenRequest
from transformer_jax.errors import UserError

CORPORA = ("europarl", "commoncrawl", "news-commentary")
NAME = "wmt14_translate/de-en"


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory):
    changes = {
        "commoncrawl": (
            ["Ein Satz.\r", "", "Wort.", "  "],
            ["One\u2028.", "b", "", "d"],
        )
    }
    return prepare_wmt14(tmp_path_factory.mktemp("wmt14"), "de", changes)


@pytest.fixture
def copy(data_set, tmp_path):
    """The data set in a folder where a test may break it."""
    shutil.copytree(data_set.path, tmp_path / "data" / data_set.name)
    return tmp_path / "data"


def test_either_direction_gives_every_line_with_its_partner(data_set):
    lines = [pair for name in CORPORA[::2] for pair in make_lines(name, "de")]
    # The builder leaves out pairs with nothing on a side, but not those with a space.
    lines += [("Ein Satz.", "One\u2028."), ("  ", "d")]
    forward = TfdsTexts(data_set, "train", ("de", "en"))
    assert len(forward) == NUM_LINES["europarl"] + NUM_LINES["news-commentary"] + 2
    assert sorted(forward.all_texts()) == sorted(lines)
    backward = TfdsTexts(data_set, "train", ("en", "de"))
    assert [(de, en) for en, de in backward.all_texts()] == list(forward.all_texts())


def test_pairs_are_the_same_in_any_order_of_reading(data_set):
    pairs = TfdsTexts(data_set, "train", ("en", "de"))
    in_order = list(pairs.all_texts())
    again = TfdsTexts(data_set, "train", ("en", "de"))
    order = [7, 3, 4, 5, 0, 1, len(pairs) - 1, 2]
    assert [again[i] for i in order] == [in_order[i] for i in order]
    assert again.gather(order) == [in_order[i] for i in order]
    with pytest.raises(IndexError):
        again[len(pairs)]


def test_newstest2013_validates_and_newstest2014_tests(data_set):
    assert data_set.splits == {
        "train": NUM_LINES["europarl"] + NUM_LINES["news-commentary"] + 2,
        "validation": NUM_VALIDATION,
        "test": NUM_TEST,
    }
    for split, name in (("validation", "newstest2013"), ("test", "newstest2014")):
        pairs = sorted(TfdsTexts(data_set, split, ("en", "de")).all_texts())
        expected = [(f"en {name} {n}", f"de {name} {n}") for n in range(len(pairs))]
        assert pairs == expected


def test_the_fingerprint_is_of_the_text_and_not_of_its_place(data_set, copy):
    fingerprint = TfdsTexts(data_set, "train", ("en", "de")).fingerprint()
    moved = TfdsTexts(open_prepared(NAME, str(copy)), "train", ("en", "de"))
    assert moved.fingerprint() == fingerprint
    for other in (
        TfdsTexts(data_set, "train", ("de", "en")),
        TfdsTexts(data_set, "test", ("en", "de")),
        TfdsTexts(data_set, "train[:-3]", ("en", "de")),
        TfdsTexts(dataclasses.replace(data_set, name="other"), "train", ("en", "de")),
    ):
        assert other.fingerprint() != fingerprint


@pytest.mark.parametrize("languages", [("en", "fr"), ("fr", "de"), ("en", "en")])
def test_a_language_that_is_not_there_is_named_with_those_that_are(data_set, languages):
    with pytest.raises(UserError, match="has the languages de, en, but"):
        check_languages(data_set.builder, *languages)


def test_single_sentences_are_one_side_of_the_pairs(data_set, tmp_path):
    settings = TfdsSettings(directory=str(data_set.path))
    pairs = list(TfdsTexts(data_set, "test", ("en", "de")).all_texts())
    for side, language in enumerate(("en", "de")):
        splits = open_tfds(settings, OpenRequest((language,), 0, tmp_path))
        assert splits.keys() == {"train", "validation", "test"}
        assert list(splits["test"].all_texts()) == [(pair[side],) for pair in pairs]
    with pytest.raises(UserError, match="de, en, but source_language='fr'. Set it"):
        open_tfds(settings, OpenRequest(("fr",), 0, tmp_path))


def test_a_set_is_found_by_name_by_environment_or_by_its_own_directory(
    data_set, copy, monkeypatch
):
    own = copy / data_set.name
    assert open_prepared("", str(own)).splits == data_set.splits
    assert open_prepared(f"{NAME}:1.0.0", str(copy)).splits == data_set.splits
    monkeypatch.setenv("TFDS_DATA_DIR", str(copy))
    assert open_prepared(NAME, "").path == str(own)
    monkeypatch.setenv("TFDS_DATA_DIR", str(copy / "elsewhere"))
    with pytest.raises(NotPreparedError, match="transformer_jax prepare"):
        open_prepared(NAME, "")
    with pytest.raises(NotPreparedError, match="holds no data set"):
        open_prepared("", str(copy))
    with pytest.raises(UserError, match="Neither the name nor"):
        open_prepared("", "")


def test_what_is_half_there_is_told_apart(data_set, copy):
    own = copy / data_set.name
    (shard,) = own.glob("*train*")
    content = shard.read_bytes()
    shard.unlink()
    with pytest.raises(UserError, match=rf"not whole: {shard.name} missing"):
        open_prepared(NAME, str(copy))
    shard.write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match="damaged|cannot be read"):
        TfdsTexts(open_prepared(NAME, str(copy)), "train", ("en", "de"))[0]
    (own / "dataset_info.json").unlink()
    with pytest.raises(UserError, match="not whole: dataset_info.json missing"):
        open_prepared(NAME, str(copy))
    own.rename(own.with_name("incomplete.ABC123_1.0.0"))
    with pytest.raises(NotPreparedError, match="was begun and is not finished"):
        open_prepared(NAME, str(copy))


def test_a_bucket_that_cannot_be_reached_is_said_so():
    with pytest.raises(UserError, match="Mount the bucket"):
        open_prepared(NAME, "gs://no-such-bucket/data")


def test_a_set_without_validation_pairs_lends_its_last_training_pairs():
    own = {"train": 900, "validation": 5, "test": 3, "extra": 1}
    assert split_expressions(own) == {
        split: split for split in ("train", "validation", "test")
    }
    assert split_expressions({"train": 900}) == {
        "train": "train[:-9]",
        "validation": "train[-9:]",
    }
    lent = split_expressions({"train": 10_000_000})
    assert lent["validation"] == "train[-3000:]"
    with pytest.raises(UserError, match="splits are test"):
        split_expressions({"test": 3})
