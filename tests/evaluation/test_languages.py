"""What a code of a language stands for, and by which tokens its text is scored."""

import re

import pytest
from sacrebleu.tokenizers import tokenizer_spm

from transformer_jax.data.tokenizer import train_tokenizer
from transformer_jax.errors import UserError
from transformer_jax.evaluation import languages
from transformer_jax.evaluation.scores import score
from transformer_jax.language_codes import normalise_language

THAI = ["ผมชอบอ่านหนังสือ", "เขาไปตลาดทุกวัน"], ["ผมชอบเขียนหนังสือ", "เขาไปตลาดทุกเช้า"]
# Half of it is right.
DANISH = ["Hunden sover i det lille hus nu."], ["Hunden sover i det store hus nu."]


def _tokenizer(language):
    metric = languages.sacrebleu_metric(normalise_language(language))
    return metric.tokenizer_signature


@pytest.mark.parametrize(
    "code",
    ["th", "tha", "tha_Thai", "km", "khm", "khm_Khmr", "lo", "lao", "my", "mya", "bur"]
    + ["bo", "bod", "tib", "dz", "dzo", "shn_Mymr"],
)
def test_a_language_without_spaces_is_scored_by_characters(code):
    assert _tokenizer(code) == "char"


@pytest.mark.parametrize(
    "code", ["zh", "zho", "chi", "zh-TW", "zho_Hans", "cmn", "yue", "yue_Hant", "wuu"]
)
def test_a_chinese_language_is_scored_as_chinese(code):
    assert normalise_language(code) == "zh"
    assert _tokenizer(code) == "zh"


@pytest.mark.parametrize(
    ("codes", "expected"),
    [(("nl", "nld", "dut", "NLD"), "nl"), (("fr", "fra", "fre", "fra_Latn"), "fr")]
    + [(("ro", "ron", "rum"), "ro"), (("jpn", "ja"), "ja"), (("kor", "ko"), "ko")],
)
def test_codes_of_two_and_of_three_letters_are_one_language(codes, expected):
    assert {normalise_language(code) for code in codes} == {expected}


@pytest.mark.parametrize("code", ["th", "khm"])
def test_half_right_text_without_spaces_has_a_score_that_says_so(code):
    found = score(*THAI, code)
    assert 50 < found.sacrebleu < 90
    assert "|tok:char|" in found.sacrebleu_signature
    assert found.paper_bleu is None
    assert not any("sacreBLEU has no tokenizer" in note for note in found.notes)
    assert any("counts characters" in note for note in found.notes)


@pytest.mark.parametrize(("code", "tokenizer"), [("th", "13a"), ("de", None)])
def test_words_that_are_not_there_are_never_counted_without_a_word(code, tokenizer):
    notes = score(*THAI, code, tokenizer=tokenizer).notes
    assert any("written without spaces, but 13a" in note for note in notes)


def test_text_with_spaces_may_be_counted_by_any_tokenizer():
    found = score(*DANISH, "da", tokenizer="intl")
    assert "|tok:intl|" in found.sacrebleu_signature
    assert not any("without spaces" in note for note in found.notes)


@pytest.mark.parametrize("code", ["xx", "da", "qaa"])
def test_a_code_that_nobody_knows_is_said_to_be_unknown(code, caplog):
    found = score(*DANISH, code)
    assert "tok:moses-unknown|" in found.paper_bleu_signature
    assert "tok:moses-unknown|" in found.tokenised_lowercase_bleu_signature
    assert any(f"{code!r} is unknown to" in note for note in found.notes)
    languages.require_language(code)
    assert f"{code!r} is unknown to" in caplog.text


@pytest.mark.parametrize("code", ["de", "nld", "fin", "th"])
def test_a_known_code_is_not(code, caplog):
    languages.require_language(code)
    assert not caplog.messages


@pytest.mark.parametrize("tokenizer", ["spm", "flores101", "flores200"])
def test_a_tokenizer_that_would_be_downloaded_says_where_its_model_goes(
    tokenizer, tmp_path, monkeypatch
):
    monkeypatch.setattr(languages, "SACREBLEU_DIR", str(tmp_path))
    folder = re.escape(str(tmp_path / "models"))
    with pytest.raises(UserError, match=rf"Fetch https://\S+ to {folder}/\w+"):
        score(*THAI, "th", tokenizer=tokenizer)


def test_a_model_that_is_there_is_used(tmp_path, monkeypatch):
    for module in (languages, tokenizer_spm):
        monkeypatch.setattr(module, "SACREBLEU_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    train_tokenizer(
        iter(["a b c", "d e f"] * 9),
        tmp_path / "models" / "sacrebleu_tokenizer_spm.model",
        vocab_size=270,
        normalizer="identity",
    )
    found = score(*DANISH, "da", tokenizer="spm")
    assert "|tok:flores101|" in found.sacrebleu_signature


def test_a_tokenizer_that_there_is_not_is_named_with_those_that_there_are():
    with pytest.raises(UserError, match="no tokenizer 'words'. Choose one of 13a, cha"):
        score(*DANISH, "da", tokenizer="words")
