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
from typing import Any

import sacrebleu

from transformer_jax.errors import UserError
from transformer_jax.evaluation import suspicions
from transformer_jax.evaluation.comet import CometMetric, CometScore
from transformer_jax.evaluation.languages import (
    describe_tokenisation,
    is_parted_by_spaces,
    moses_name,
    sacrebleu_metric,
)
from transformer_jax.evaluation.scored_text import ScoredText, describe_length
from transformer_jax.language_codes import normalise_language
from transformer_jax.text_table import paragraph, text_table

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
      brevity_penalty: what sacreBLEU is multiplied by, for translations that are
        shorter than the reference; from 0 to 1.
      length_ratio: tokens of the translations for each one of the reference, likewise.
      has_four_grams: whether any line has four tokens. BLEU counts four-grams, and is
        0 without them.
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
    brevity_penalty: float | None = None
    length_ratio: float | None = None
    has_four_grams: bool = True

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
            self._row("sacreBLEU", self.sacrebleu, self.sacrebleu_signature),
            self._row("chrF2", self.chrf, self.chrf_signature + "|tok:characters"),
            self._row("paper's BLEU", self.paper_bleu, self.paper_bleu_signature),
            self._row(
                "lower-cased tokenised BLEU",
                self.tokenised_lowercase_bleu,
                self.tokenised_lowercase_bleu_signature,
            ),
        ]
        if self.comet is not None and self.comet_signature is not None:
            model = _parse_signature(self.comet_signature)["model"]
            # Not in per cent by itself, unlike the others.
            value = f"{100 * self.comet:.2f}"
            rows.append((f"COMET x 100, {model}", value, "mixed", "its own", ""))
        below = [f"sentences: {describe_length(self.num_sentences, self.test_set)}"]
        if self.brevity_penalty is not None and self.length_ratio is not None:
            below.append(
                f"sacreBLEU's brevity penalty: {self.brevity_penalty:.3f}, length "
                f"ratio: {self.length_ratio:.3f}"
            )
        below += [
            f"sacreBLEU: {self.sacrebleu_signature}",
            f"chrF2: {self.chrf_signature}",
        ]
        if self.comet_signature is not None:
            below.append(f"COMET: {self.comet_signature}")
        below += [f"note: {note}" for note in self.notes]
        return "\n".join([text_table(rows, right=[1]), "", *map(paragraph, below)])

    def _row(
        self, name: str, value: float | None, signature: str | None
    ) -> tuple[str, ...]:
        """Spell out the signature of one score as cells of the table."""
        if value is None or signature is None:
            return (name, "none", "", "not defined for this language", "")
        parts = _parse_signature(signature)
        counts_words = "nc" not in parts  # As chrF2 says how long its n-grams are.
        if value == 0 and counts_words and not self.has_four_grams:
            return (name, "none", "", "no four-grams to count", "")
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
    more_references: Sequence[Sequence[str]] = (),
    sources: Sequence[str] | None = None,
    tokenizer: str | None = None,
    comet: CometMetric | None = None,
    test_set: ScoredText | None = None,
) -> Scores:
    """Score plain translations against plain references.

    Args:
      hypotheses: translations, one a line, not tokenised; empty ones count.
      references: one reference a line, as it was published.
      target_language: code of the language of both, such as "de" or "zh-CN".
      more_references: other references, each of as many lines.
      sources: what was translated, one a line; used to find untranslated output.
      tokenizer: of sacreBLEU; None: the one that fits the language.
      comet: a model that scores as well; it reads the sources, and one reference.
      test_set: what the lines are called.

    Raises:
      ValueError: if there is a COMET model but no sources.
      UserError: if the lines cannot be scored, the language is no code, its tokenizer
        is not installed, or COMET is to read more than one reference.
    """
    language = normalise_language(target_language)
    all_references = (references, *more_references)
    suspicions.require_scorable(hypotheses, references, sources)
    for lines in more_references:
        suspicions.require_scorable(hypotheses, lines)
    learnt = None
    if comet is not None:
        learnt = _score_learnt(comet, hypotheses, all_references, sources)
    bleu, chrf = sacrebleu_metric(language, tokenizer), sacrebleu.CHRF()
    bleu_score = bleu.corpus_score(hypotheses, all_references)
    chrf_score = chrf.corpus_score(hypotheses, all_references)
    notes = [
        *suspicions.find_suspicions(
            hypotheses, references, sources, more_references=more_references
        ),
        *describe_tokenisation(language, bleu.tokenizer_signature, all_references),
    ]
    if is_parted_by_spaces(language):
        tokenised = _score_tokenised(hypotheses, all_references, language)
    else:
        tokenised = _TokenisedScores()
        notes.append(
            "The paper's BLEU and the lower-cased tokenised BLEU are not defined for "
            f"{language!r}: Moses does not find its words."
        )
    notes += suspicions.find_oddities_of_score(bleu_score, tokenised.paper)
    notes += test_set.notes if test_set is not None else ()
    return Scores(
        sacrebleu=bleu_score.score,
        sacrebleu_signature=str(bleu.get_signature()),
        chrf=chrf_score.score,
        chrf_signature=str(chrf.get_signature()),
        paper_bleu=tokenised.paper,
        paper_bleu_signature=tokenised.paper_signature,
        tokenised_lowercase_bleu=tokenised.lowercase,
        tokenised_lowercase_bleu_signature=tokenised.lowercase_signature,
        num_sentences=len(hypotheses),
        notes=tuple(notes),
        comet=None if learnt is None else learnt.value,
        comet_signature=None if learnt is None else learnt.signature,
        test_set=test_set,
        brevity_penalty=bleu_score.bp,
        length_ratio=bleu_score.ratio,
        has_four_grams=suspicions.has_four_grams(bleu_score),
    )


def _score_learnt(
    comet: CometMetric,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None,
) -> CometScore:
    if sources is None:
        raise ValueError("COMET reads the sources as well. Give them.")
    if len(references) > 1:
        raise UserError(
            f"COMET reads one reference, and {len(references)} are given. Give one."
        )
    return comet.score(hypotheses, references[0], sources)


def replace_punctuation(lines: Sequence[str]) -> list[str]:
    """Replace curly quotes, full-width signs and the like, as Moses does."""
    import sacremoses

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


def multi_bleu(hypotheses: Sequence[str], *references: Sequence[str]) -> float:
    """Return what multi-bleu.perl gives for tokenised text: no smoothing, as is."""
    metric = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    return metric.corpus_score(hypotheses, references).score


@dataclasses.dataclass(frozen=True)
class _TokenisedScores:
    """The two scores that rest on Moses, with what they are."""

    paper: float | None = None
    paper_signature: str | None = None
    lowercase: float | None = None
    lowercase_signature: str | None = None


def _score_tokenised(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], language: str
) -> _TokenisedScores:
    """Tokenise all sides once and count cased and lower-cased."""
    texts = [tokenise(replace_punctuation(hypotheses), language)]
    texts += [tokenise(lines, language) for lines in references]
    lowercase = multi_bleu(*([line.lower() for line in lines] for lines in texts))
    is_split = language == "de"
    if is_split:
        texts = [split_compounds(lines) for lines in texts]
    rest = f"tok:{moses_name(language)}|smooth:none|split:"
    if len(references) > 1:
        rest = f"nrefs:{len(references)}|{rest}"
    return _TokenisedScores(
        paper=multi_bleu(*texts),
        paper_signature="case:mixed|" + rest + ("hyphens" if is_split else "no"),
        lowercase=lowercase,
        lowercase_signature="case:lc|" + rest + "no",
    )


@functools.cache
def _moses_tokenizer(language: str) -> Any:
    import sacremoses

    return sacremoses.MosesTokenizer(lang=language)
