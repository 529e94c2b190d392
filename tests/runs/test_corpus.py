import gzip

import numpy as np
import pytest
import sentencepiece

from tests.tiny_run import tiny_config, write_text
from transformer_jax.errors import UserError
from transformer_jax.runs.corpus import prepare_corpus
from transformer_jax.runs.directory import RunDirectory


def _prepare(tmp_path, config):
    directory = RunDirectory(tmp_path / "run")
    return prepare_corpus(config, directory), directory


def test_plain_packed_tabbed_and_split_files_give_the_same_tokens(tmp_path):
    text = write_text(tmp_path / "text")
    plain, _ = _prepare(tmp_path / "plain", tiny_config(text))

    sides = [(text / f"train.{side}").read_text() for side in ("en", "de")]
    rows = zip(*(side.splitlines() for side in sides), strict=True)
    (text / "train.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    tabbed_config = tiny_config(text)
    tabbed_config.data.update(train_source="train.tsv", train_target="")
    tabbed, _ = _prepare(tmp_path / "tabbed", tabbed_config)

    names = {"en": [], "de": []}
    for side, content in zip(names, sides, strict=True):
        lines = content.splitlines(keepends=True)
        for part, chosen in enumerate((lines[:23], lines[23:])):
            names[side].append(f"part{part}.{side}.gz")
            (text / names[side][-1]).write_bytes(
                gzip.compress("".join(chosen).encode())
            )
    packed_config = tiny_config(text)
    packed_config.data.update(
        train_source=",".join(names["en"]), train_target=", ".join(names["de"])
    )
    packed, _ = _prepare(tmp_path / "packed", packed_config)

    for other in (tabbed, packed):
        everything = np.arange(len(plain.train))
        np.testing.assert_array_equal(other.train.lengths, plain.train.lengths)
        for ours, theirs in zip(
            other.train.gather(everything), plain.train.gather(everything), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)


def test_a_run_keeps_every_line_that_it_is_scored_on(tmp_path):
    text = write_text(tmp_path / "text")
    (text / "test.en").write_text("One.\n\nThree\u2028still three.\n")
    (text / "test.de").write_text("Eins.\nZwei.\nDrei.\n")
    _, directory = _prepare(tmp_path, tiny_config(text))
    assert directory.read_split("test") == (
        ["One.", "", "Three\u2028still three."],
        ["Eins.", "Zwei.", "Drei."],
    )


def test_what_training_skips_is_counted(tmp_path):
    text = write_text(tmp_path / "text")
    with (text / "train.en").open("a") as file:
        file.write("\nword " + "word " * 200 + "\nshort\n")
    with (text / "train.de").open("a") as file:
        file.write("Leer.\nkurz\n" + "lang " * 20 + "\n")
    config = tiny_config(text)
    config.data.update(max_length=150, max_length_ratio=8.0)
    corpus, _ = _prepare(tmp_path, config)
    assert corpus.train.manifest["num_pairs"] == 60
    drops = corpus.train.manifest["drops"]
    assert drops == {"empty": 1, "too long": 1, "length ratio": 1}


def test_a_test_split_is_optional(tmp_path):
    text = write_text(tmp_path / "text")
    config = tiny_config(text)
    config.data.update(test_source="", test_target="")
    _, directory = _prepare(tmp_path, config)
    with pytest.raises(UserError, match="keeps no test split, only validation"):
        directory.read_split("test")


def test_an_existing_tokenizer_is_taken_over(tmp_path):
    text = write_text(tmp_path / "text")
    first, directory = _prepare(tmp_path / "first", tiny_config(text))
    config = tiny_config(text)
    config.data.tokenizer_path = str(directory.tokenizer_path)
    config.data.vocab_size = 999
    second, _ = _prepare(tmp_path / "second", config)
    assert second.tokenizer.fingerprint == first.tokenizer.fingerprint


def test_a_tokenizer_that_loses_characters_is_taken_over_with_a_warning(
    tmp_path, caplog
):
    text = write_text(tmp_path / "text")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text / "train.en"),
        model_prefix=str(tmp_path / "given"),
        vocab_size=60,
        hard_vocab_limit=False,
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        minloglevel=3,
    )
    config = tiny_config(text)
    config.data.tokenizer_path = str(tmp_path / "given.model")
    _prepare(tmp_path, config)
    assert "given.model has no byte fallback" in caplog.text


def test_the_grammar_has_a_split_of_long_sentences(tmp_path):
    config = tiny_config(tmp_path)
    config.data.source = "grammar"
    config.data.grammar.update(
        num_train_pairs=50, num_validation_pairs=3, num_test_pairs=4
    )
    _, directory = _prepare(tmp_path, config)
    assert len(directory.read_split("long")[0]) == 4
    assert len(directory.read_split("validation")[0]) == 3
