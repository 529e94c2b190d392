"""Codes of languages: as they are written, as they are used, as files are called by."""

import os
import pathlib
import re
from collections.abc import Iterable

from transformer_jax.errors import UserError

# Codes of three letters for the languages that sacreBLEU or Moses treat in a way of
# their own. The Chinese languages share one script, and its tokenizer.
_SHORT_CODES = {
    long: short
    for short, codes in {
        "as": "asm", "bn": "ben", "bo": "bod tib", "ca": "cat", "cs": "ces cze",
        "de": "deu ger", "dz": "dzo", "el": "ell gre", "en": "eng", "es": "spa",
        "et": "est ekk", "fi": "fin", "fr": "fra fre", "ga": "gle", "gu": "guj",
        "hi": "hin", "hu": "hun", "ii": "iii", "is": "isl ice", "it": "ita",
        "ja": "jpn", "kn": "kan", "km": "khm", "ko": "kor", "lo": "lao", "lt": "lit",
        "lv": "lav lvs", "ml": "mal", "mr": "mar", "my": "mya bur", "nl": "nld dut",
        "or": "ori ory", "pa": "pan", "pl": "pol", "pt": "por", "ro": "ron rum",
        "ru": "rus", "sk": "slk slo", "sl": "slv", "sv": "swe", "ta": "tam",
        "te": "tel", "th": "tha",
        "zh": "zho chi cdo cjy cmn gan hak hsn lzh mnp nan wuu yue",
    }.items()
    for long in codes.split()
}  # fmt: skip
# Behind a language, a name may say what kind of text it is.
_KINDS_OF_TEXT = {".gz", ".txt"}


def short_code(language: str) -> str:
    """Return the code in "DE", "de_AT", "deu" or "deu_Latn": of two letters, if any."""
    code = re.split("[-_.]", language.strip().lower(), maxsplit=1)[0]
    return _SHORT_CODES.get(code, code)


def normalise_language(language: str) -> str:
    """Return the short code of a language.

    Raises:
      UserError: for anything that is no language code.
    """
    code = short_code(language) if isinstance(language, str) else ""
    if not re.fullmatch("[a-z]{2,3}", code):
        raise UserError(
            f"{language!r} is no code of a language, and the language decides how text "
            "is tokenised. Give its code, such as de, fr or zh."
        )
    return code


def language_of_name(
    path: str | os.PathLike[str], languages: Iterable[str]
) -> str | None:
    """Return the short code that a file is called by, as de in train.DE.gz, if any.

    Args:
      path: the file's.
      languages: codes that count beside those of well-known languages.
    """
    name = pathlib.Path(path)
    while name.suffix in _KINDS_OF_TEXT:
        name = name.with_suffix("")
    code = short_code(name.suffix.removeprefix(".") or "-")
    known = {*_SHORT_CODES.values(), *map(short_code, languages)}
    return code if code in known else None
