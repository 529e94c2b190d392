import socket

import pytest

from tests.data.sources.wmt14_archives import (
    NUM_LINES,
    any_checksum,
    make_lines,
    prepare_wmt14,
    wants,
    write_archives,
)
from transformer_jax.data.sources.tfds_preparation import prepare
from transformer_jax.data.sources.tfds_texts import TfdsTexts
from transformer_jax.errors import UserError

NAME = "wmt14_translate/de-en"


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*arguments, **settings):
        raise OSError("unreachable")

    monkeypatch.setattr(socket, "create_connection", refuse)


def test_french_has_two_corpora_more_sorted_on_disk_like_the_real_ones(
    tmp_path, monkeypatch
):
    from tensorflow_datasets.core import shuffle

    monkeypatch.setattr(shuffle, "MAX_MEM_BUFFER_SIZE", 0)
    data_set = prepare_wmt14(tmp_path, "fr")
    assert data_set.splits["train"] == sum(NUM_LINES.values())
    pairs = TfdsTexts(data_set, "train", ("fr", "en"))
    expected = [pair for corpus in NUM_LINES for pair in make_lines(corpus, "fr")]
    assert sorted(pairs.all_texts()) == sorted(expected)


def test_a_prepared_set_is_not_prepared_again(tmp_path, no_network):
    first = prepare_wmt14(tmp_path, "de")
    again = prepare(
        NAME, str(tmp_path / "data"), wants("de", "en"), str(tmp_path / "none")
    )
    assert (again.path, again.splits) == (first.path, first.splits)
    with pytest.raises(UserError, match="has the languages de, en"):
        prepare(NAME, str(tmp_path / "data"), wants("en", "fr"))


def test_without_network_the_missing_files_are_named(tmp_path, no_network):
    manual = write_archives(tmp_path / "archives", "de")
    (manual / "dev.tgz").unlink()
    with pytest.raises(UserError) as caught:
        prepare(NAME, str(tmp_path / "data"), wants("en", "de"), str(manual))
    message = str(caught.value)
    assert "dev.tgz (37 MiB) from http://data.statmt.org/" in message
    assert "europarl" not in message
    assert message.endswith(f"into {manual}")
    assert not (tmp_path / "data" / NAME).exists()


def test_sides_of_different_length_are_refused(tmp_path):
    changes = {"news-commentary": (["Eins.", "Zwei."], ["One.", "Two.", "Three."])}
    with pytest.raises(UserError, match="Sizes do not match(.|\n)*as many lines"):
        prepare_wmt14(tmp_path, "de", changes)
    assert not (tmp_path / "data" / NAME / "1.0.0").exists()


def test_an_archive_cut_short_is_refused(tmp_path):
    manual = write_archives(tmp_path / "archives", "de")
    archive = manual / "training-parallel-commoncrawl.tgz"
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(UserError, match="commoncrawl"), any_checksum():
        prepare(NAME, str(tmp_path / "data"), wants("en", "de"), str(manual))


def test_an_archive_with_another_checksum_is_refused(tmp_path):
    manual = write_archives(tmp_path / "archives", "de")
    with pytest.raises(UserError, match="wrong checksum(.|\n)*fetch it anew"):
        prepare(NAME, str(tmp_path / "data"), wants("en", "de"), str(manual))


@pytest.mark.parametrize(
    ("name", "languages", "words"),
    [
        ("wmt14_translate/de-en", ("en", "fr"), "has the languages de, en"),
        ("wmt14_translate", ("en", "de"), "configurations are .*de-en"),
        (
            "wmt14_translate/de-fr",
            ("en", "de"),
            "knows. Its configurations are cs-en, de-en, fr-en, hi-en, ru-en. Give",
        ),
        ("wmt14_translate/en-de", ("en", "de"), "Set it to .*/de-en, for either dir"),
        ("ted_hrlr_translate/en_to_pt", ("en", "pt"), "Set it to .*/pt_to_en, for ei"),
        ("wmt14_translate/de-en:9.9.9", ("en", "de"), "9.9.9, only: 1.0.0. Give"),
        ("wmt14_translate/de-en/1.0.0", ("en", "de"), "It is no name. Give"),
        ("no_such_set/de-en", ("en", "de"), "is not a data set"),
    ],
)
def test_a_name_that_will_not_do_is_refused_before_the_download(
    tmp_path, no_network, name, languages, words
):
    with pytest.raises(UserError, match=words) as caught:
        prepare(name, str(tmp_path / "data"), wants(*languages))
    assert "\n" not in str(caught.value)


def test_a_bucket_is_no_place_to_prepare_in():
    with pytest.raises(UserError, match="[Mm]ount the bucket"):
        prepare(NAME, "gs://no-such-bucket/data", wants("en", "de"))
