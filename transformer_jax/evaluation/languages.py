"""The tokenizers that translations into each language are scored by."""

import functools
import logging
import os
import re
from collections.abc import Sequence

import sacrebleu
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
from sacrebleu.utils import SACREBLEU_DIR

from transformer_jax.errors import UserError
from transformer_jax.language_codes import normalise_language

TOKENIZERS = tuple(sorted(sacrebleu.BLEU.TOKENIZERS))

_LOGGER = logging.getLogger(__name__)

_BY_CHARACTER = "th lo km my bo dz ii shn mnw nod tts khb tdd".split()
# Where spaces do not part words, or, as in Korean, part more than words.
_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"} | dict.fromkeys(
    _BY_CHARACTER, "char"
)
_EXTRAS = {"ja-mecab": "japanese", "ko-mecab": "korean"}
# Those that look for words between spaces.
_BETWEEN_SPACES = ("13a", "intl", "none")
# Thai to Tibetan, Myanmar, Khmer, the Tai scripts, kana, Han, Yi and Javanese.
_WITHOUT_SPACES = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u1950-\u1aaf\u3040-\u30ff\u3400-\ua4cf\ua980-\ua9df"
    "\U00020000-\U0003ffff]"
)


def is_parted_by_spaces(language: str) -> bool:
    """Say whether tokenisers find the words of a language, as Moses does, by spaces."""
    return language not in _TOKENIZERS


def moses_name(language: str) -> str:
    """Name Moses's tokenizer of a language, as signatures do."""
    return f"moses-{language if language in _moses_languages() else 'unknown'}"


@functools.cache
def _moses_languages() -> frozenset[str]:
    """Return the languages whose abbreviations Moses knows."""
    from sacremoses.corpus import NonbreakingPrefixes

    return frozenset(NonbreakingPrefixes().available_langs.values())


def describe_tokenisation(
    language: str, tokenizer: str, references: Sequence[Sequence[str]]
) -> list[str]:
    """Say which tokens scores rest on, where that is not plain.

    Args:
      language: as `normalise_language` returns it.
      tokenizer: sacreBLEU's, by the name in its signature.
      references: what the translations are compared with.
    """
    notes = [_describe_unknown(language)] if _is_unknown(language) else []
    if tokenizer == "char":
        notes.append(
            "sacreBLEU counts characters (tok:char): its score compares with others of "
            "characters alone, not with those of words."
        )
    if tokenizer in _BETWEEN_SPACES and _is_without_spaces(references):
        notes.append(
            f"The reference is written without spaces, but {tokenizer} and Moses look "
            "for words between them: their scores mean little. Give the language's "
            "code, or another tokenizer of sacreBLEU, such as char."
        )
    return notes


def _is_unknown(language: str) -> bool:
    return is_parted_by_spaces(language) and language not in _moses_languages()


def _describe_unknown(language: str) -> str:
    return (
        f"{language!r} is unknown to sacreBLEU and to Moses, which tokenises it by "
        "rules for any language and the abbreviations of English. If it is no "
        "language's code, give the right one."
    )


def _is_without_spaces(texts: Sequence[Sequence[str]]) -> bool:
    """Say whether most of what is written does not part its words."""
    text = "".join(line for lines in texts for line in lines)
    return 2 * len(_WITHOUT_SPACES.findall(text)) > sum(map(str.isalpha, text))


def require_language(language: str) -> None:
    """Make sure that translations into a language can be scored; needs no text.

    Raises:
      UserError: if the language is no code, or its tokenizer is not installed.
    """
    language = normalise_language(language)
    sacrebleu_metric(language)
    if _is_unknown(language):
        _LOGGER.warning("%s", _describe_unknown(language))


def sacrebleu_metric(language: str, tokenizer: str | None = None) -> sacrebleu.BLEU:
    """Return sacreBLEU for a target language.

    Args:
      language: as `normalise_language` returns it.
      tokenizer: one of sacreBLEU's; None: the one that fits the language. Languages
        without spaces are counted by characters, which needs no download.

    Raises:
      UserError: if there is no such tokenizer, or what it needs is not installed.
    """
    tokenizer = tokenizer or _TOKENIZERS.get(language, "13a")
    tokenizer = "flores101" if tokenizer == "spm" else tokenizer  # Its older name.
    if tokenizer not in TOKENIZERS:
        raise UserError(
            f"sacreBLEU has no tokenizer {tokenizer!r}. Choose one of "
            f"{', '.join(TOKENIZERS)}."
        )
    _require_pieces(tokenizer)
    try:
        # `force` silences a warning on stderr; `suspicions` gives it as a note instead.
        return sacrebleu.BLEU(tokenize=tokenizer, force=True)
    except (ImportError, RuntimeError) as error:
        if tokenizer not in _EXTRAS:
            raise
        raise UserError(
            f"Scoring translations into {language!r} needs sacreBLEU's tokenizer "
            f"{tokenizer}, which is not installed. Install it with: pip install "
            f"'transformer-jax[{_EXTRAS[tokenizer]}]', or use the tokenizer char."
        ) from error


def _require_pieces(tokenizer: str) -> None:
    """Make sure that a tokenizer's model is there, which sacreBLEU would download."""
    if tokenizer not in SPM_MODELS:
        return
    url = SPM_MODELS[tokenizer]["url"]
    path = os.path.join(SACREBLEU_DIR, "models", os.path.basename(url))
    if not os.path.exists(path):
        raise UserError(
            f"The tokenizer {tokenizer} needs a sentencepiece model, and nothing is "
            f"downloaded at run time. Fetch {url} to {path}, or choose the tokenizer "
            "char, which needs none."
        )
