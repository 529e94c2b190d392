"""Scores of finished translations: sacreBLEU, chrF, and the paper's BLEU by name.

One output has many BLEU scores, several points apart, by tokenisation, case and the
treatment of compounds. The ones here are never called plainly "BLEU".

Table 2 of the paper was scored as tensor2tensor's `get_ende_bleu.sh` does: Unicode
punctuation of the hypothesis, and of it alone, is replaced by ASCII; hypothesis and
reference are tokenised by Moses; in both, a hyphen between two characters other than
white space becomes a token of its own (x-y → x ##AT##-##AT## y); multi-bleu.perl
counts, case-sensitive and without smoothing. That script is for English to German.
Translations into other languages, the paper's French among them, are scored likewise
without the split. Where Moses has no words to find, in languages written without
spaces, no such score exists.
"""

import dataclasses
import functools
import re
from collections.abc import Sequence

import sacrebleu
import sacremoses

from transformer_jax.errors import UserError
from transformer_jax.evaluation import suspicions
from transformer_jax.evaluation.comet import CometMetric
from transformer_jax.evaluation.scored_text import ScoredText, describe_length
from transformer_jax.text_table import text_table

# Written without spaces between words, or, as Korean, with a tokenizer of its own.
_WITHOUT_MOSES = frozenset("zh yue ja ko th lo km my bo dz".split())
_SACREBLEU_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
_EXTRAS = {"ja": "japanese", "ko": "korean"}
# Three-letter codes of the languages for which scoring differs from the rest.
_SHORT_CODES = {
    "deu": "de", "ger": "de", "eng": "en", "fra": "fr", "fre": "fr", "ita": "it",
    "zho": "zh", "chi": "zh", "cmn": "zh", "jpn": "ja", "kor": "ko", "tha": "th",
}  # fmt: skip
_HYPHEN = re.compile(r"(\S)-(\S)")


@dataclasses.dataclass(frozen=True)
class Scores:
    """All scores of one set of translations, in per cent but for COMET.

    Attributes:
      sacrebleu: sacreBLEU's score of the raw text, cased.
      sacrebleu_signature: its tokenisation, case, smoothing and version.
      chrf: chrF2, over character n-grams.
      chrf_signature: likewise.
      paper_bleu: Moses-tokenised, cased, unsmoothed; compounds split where the target
        is German. None where the target language has no such score.
      paper_bleu_signature: says which; None with the score.
      tokenised_lowercase_bleu: Moses-tokenised, lower-cased, never split; None
        likewise.
      tokenised_lowercase_bleu_signature: likewise.
      num_sentences: lines scored, empty ones included.
      notes: what a reader of the scores should know.
      comet: the mean that a COMET model gives; None without a model.
      comet_signature: says which; None with the score.
      test_set: which text these are the scores of; None if nobody said.
    """

    sacrebleu: float
    sacrebleu_signature: str
    chrf: float
    chrf_signature: str
    paper_bleu: float | None
    paper_bleu_signature: str | None
    tokenised_lowercase_bleu: float | None
    tokenised_lowercase_bleu_signature: str | None
    num_sentences: int
    notes: tuple[str, ...] = ()
    comet: float | None = None
    comet_signature: str | None = None
    test_set: ScoredText | None = None

    def as_dict(self) -> dict[str, object]:
        """Return what JSON can hold, with scores rounded to four decimals."""
        fields = dataclasses.asdict(self) | {
            "notes": list(self.notes),
            "test_set": self.test_set and str(self.test_set),
        }
        return {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in fields.items()
        }

    def table(self) -> str:
        """Return a text table that says of each score how it was counted."""
        rows = [
            ("score", "value", "case", "tokenisation", "compounds"),
            _row("sacreBLEU", self.sacrebleu, self.sacrebleu_signature),
            _row("chrF2", self.chrf, self.chrf_signature + "|tok:characters"),
            _row("paper's BLEU", self.paper_bleu, self.paper_bleu_signature),
            _row(
                "lower-cased tokenised BLEU",
                self.tokenised_lowercase_bleu,
                self.tokenised_lowercase_bleu_signature,
            ),
        ]
        if self.comet is not None and self.comet_signature is not None:
            model = _parse_signature(self.comet_signature)["model"]
            rows.append(
                (f"COMET, {model}", f"{self.comet:.4f}", "mixed", "its own", "")
            )
        lines = [
            text_table(rows, right=[1]),
            "",
            f"sentences: {describe_length(self.num_sentences, self.test_set)}",
            f"sacreBLEU: {self.sacrebleu_signature}",
            f"chrF2: {self.chrf_signature}",
        ]
        if self.comet_signature is not None:
            lines.append(f"COMET: {self.comet_signature}")
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


def _row(name: str, value: float | None, signature: str | None) -> tuple[str, ...]:
    """Spell out the signature of one score as cells of the table."""
    if value is None or signature is None:
        return (name, "none", "", "not defined for this language", "")
    parts = _parse_signature(signature)
    case = {"lc": "lower"}.get(parts["case"], parts["case"])
    split = "split at hyphens" if parts.get("split") == "hyphens" else "whole"
    return (name, f"{value:.2f}", case, parts["tok"], split)


def _parse_signature(signature: str) -> dict[str, str]:
    """Return what a signature says, by name."""
    return dict(part.split(":", 1) for part in signature.split("|"))


def score(
    hypotheses: Sequence[str],
    references: Sequence[str],
    target_language: str,
    *,
    sources: Sequence[str] | None = None,
    comet: CometMetric | None = None,
    test_set: ScoredText | None = None,
) -> Scores:
    """Score plain translations against plain references.

    Args:
      hypotheses: translations, one a line, not tokenised; empty ones count.
      references: one reference a line, as it was published.
      target_language: code of the language of both, such as "de" or "zh-CN".
      sources: what was translated, one a line; used to find untranslated output.
      comet: a model that scores as well; it reads the sources.
      test_set: what the lines are called.

    Raises:
      ValueError: if there is a COMET model but no sources.
      UserError: if the lines cannot be scored, the language is no code, or its
        tokenizer is not installed.
    """
    language = normalise_language(target_language)
    suspicions.require_scorable(hypotheses, references, sources)
    notes = suspicions.find_suspicions(hypotheses, references, sources)
    notes += test_set.notes if test_set is not None else ()
    learnt = None
    if comet is not None:
        if sources is None:
            raise ValueError("COMET reads the sources as well. Give them.")
        learnt = comet.score(hypotheses, references, sources)
    bleu = sacrebleu_metric(language)
    chrf = sacrebleu.CHRF()
    bleu_score = bleu.corpus_score(hypotheses, [references]).score
    chrf_score = chrf.corpus_score(hypotheses, [references]).score
    if language in _WITHOUT_MOSES:
        tokenised = _TokenisedScores()
        notes += (_note_without_moses(language),)
    else:
        tokenised = _score_tokenised(hypotheses, references, language)
    return Scores(
        sacrebleu=bleu_score,
        sacrebleu_signature=str(bleu.get_signature()),
        chrf=chrf_score,
        chrf_signature=str(chrf.get_signature()),
        paper_bleu=tokenised.paper,
        paper_bleu_signature=tokenised.paper_signature,
        tokenised_lowercase_bleu=tokenised.lowercase,
        tokenised_lowercase_bleu_signature=tokenised.lowercase_signature,
        num_sentences=len(hypotheses),
        notes=notes,
        comet=None if learnt is None else learnt.value,
        comet_signature=None if learnt is None else learnt.signature,
        test_set=test_set,
    )


def normalise_language(language: str) -> str:
    """Return the two-letter code in "DE", "de_AT" or "deu".

    Raises:
      UserError: for anything that is no language code.
    """
    code = re.split("[-_.]", language.strip().lower(), maxsplit=1)[0]
    if not re.fullmatch("[a-z]{2,3}", code):
        raise UserError(
            f"{language!r} is no code of a language, and the language decides how text "
            "is tokenised. Give its code, such as de, fr or zh."
        )
    return _SHORT_CODES.get(code, code)


def replace_punctuation(lines: Sequence[str]) -> list[str]:
    """Replace curly quotes, full-width signs and the like, as Moses does."""
    replace = sacremoses.MosesPunctNormalizer().replace_unicode_punct
    return [replace(line) for line in lines]


def tokenise(lines: Sequence[str], language: str) -> list[str]:
    """Return the lines as Moses tokenises them, tokens parted by single spaces."""
    tokenizer = _moses_tokenizer(language)
    return [tokenizer.tokenize(line, return_str=True) for line in lines]


def split_compounds(lines: Sequence[str]) -> list[str]:
    """Make tokens of the hyphens inside words, once: x-y → x ##AT##-##AT## y.

    Matches do not overlap, so that "a-b-c" is split at its first hyphen alone; so does
    the paper's script.

    Raises:
      UserError: if a line was split before.
    """
    for line in lines:
        if suspicions.COMPOUND_MARK in line:
            raise UserError(
                f"Compounds are already split in {line!r}. Split plain text once."
            )
    mark = suspicions.COMPOUND_MARK
    return [_HYPHEN.sub(rf"\1 {mark}-{mark} \2", line) for line in lines]


def multi_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return what multi-bleu.perl gives for tokenised text: no smoothing, as is."""
    metric = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    return metric.corpus_score(hypotheses, [references]).score


@dataclasses.dataclass(frozen=True)
class _TokenisedScores:
    """The two scores that rest on Moses, with what they are."""

    paper: float | None = None
    paper_signature: str | None = None
    lowercase: float | None = None
    lowercase_signature: str | None = None


def _score_tokenised(
    hypotheses: Sequence[str], references: Sequence[str], language: str
) -> _TokenisedScores:
    """Tokenise both sides once and count cased and lower-cased."""
    hypotheses = tokenise(replace_punctuation(hypotheses), language)
    references = tokenise(references, language)
    lowercase = multi_bleu(
        [line.lower() for line in hypotheses], [line.lower() for line in references]
    )
    is_split = language == "de"
    if is_split:
        hypotheses, references = (
            split_compounds(hypotheses),
            split_compounds(references),
        )
    rest = f"tok:moses-{language}|smooth:none|split:"
    return _TokenisedScores(
        paper=multi_bleu(hypotheses, references),
        paper_signature="case:mixed|" + rest + ("hyphens" if is_split else "no"),
        lowercase=lowercase,
        lowercase_signature="case:lc|" + rest + "no",
    )


def require_language(language: str) -> None:
    """Make sure that translations into a language can be scored; needs no text.

    Raises:
      UserError: if the language is no code, or its tokenizer is not installed.
    """
    sacrebleu_metric(normalise_language(language))


def sacrebleu_metric(language: str) -> sacrebleu.BLEU:
    """Return sacreBLEU with the tokenizer of the target language.

    Raises:
      UserError: if that tokenizer needs a package that is not installed.
    """
    tokenizer = _SACREBLEU_TOKENIZERS.get(language, "13a")
    try:
        # `force` silences a warning on stderr; `suspicions` gives it as a note instead.
        return sacrebleu.BLEU(tokenize=tokenizer, force=True)
    except (ImportError, RuntimeError) as error:
        if language not in _EXTRAS:
            raise
        raise UserError(
            f"Scoring translations into {language!r} needs sacreBLEU's tokenizer "
            f"{tokenizer}, which is not installed. Install it with: pip install "
            f"'transformer-jax[{_EXTRAS[language]}]'"
        ) from error


def _note_without_moses(language: str) -> str:
    """Say why the paper's score is missing, and what to read in its place."""
    note = (
        f"The paper's BLEU and the lower-cased tokenised BLEU are not defined for "
        f"{language!r}: Moses does not find its words."
    )
    if language not in _SACREBLEU_TOKENIZERS:
        note += " sacreBLEU has no tokenizer for it either; chrF2 is the score to read."
    return note


@functools.cache
def _moses_tokenizer(language: str) -> sacremoses.MosesTokenizer:
    return sacremoses.MosesTokenizer(lang=language)
