import pytest

from transformer_jax.language_codes import language_of_name


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("train.de", "de"),
        ("a/train.tok.DE.gz", "de"),
        ("europarl-v7.de-en.en", "en"),
        ("train.deu", "de"),
        ("train.de.txt", "de"),
        ("train.de_AT", "de"),
        ("train.qq", "qq"),
        ("train.xx", None),
        ("train.txt", None),
        ("train", None),
        ("de", None),
        ("pairs.tsv", None),
        (".gz", None),
    ],
)
def test_a_file_is_called_by_the_last_language_in_its_name(name, language):
    assert language_of_name(name, ["qq", "en"]) == language
