"""Are two systems different? sacreBLEU's paired bootstrap, on the same lines.

Resampling draws as many lines as there are, with replacement, again and again; both
systems are scored on the same draws (Koehn 2004). The p-value is sacreBLEU's: the share
of draws, the measured one counted, in which the size of the difference exceeds its mean
by more than the measured difference: small where it is hard to put down to the choice
of the test set.
"""

import contextlib
import dataclasses
import logging
import os
from collections.abc import Iterator, Mapping, Sequence

import sacrebleu
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

from transformer_jax.errors import UserError
from transformer_jax.evaluation import suspicions
from transformer_jax.evaluation.languages import (
    describe_tokenisation,
    sacrebleu_metric,
)
from transformer_jax.evaluation.scored_text import ScoredText, describe_length
from transformer_jax.language_codes import normalise_language
from transformer_jax.text_table import paragraph, text_table

# sacreBLEU's own default, so that its command line gives the same numbers.
SEED = 12345
NUM_SAMPLES = 1000
# Test sets have a thousand and more.
_FEW_LINES = 100


@dataclasses.dataclass(frozen=True)
class SystemScore:
    """One score of one system, in per cent.

    Attributes:
      system: "baseline" or "hypothesis".
      metric: "sacreBLEU" or "chrF2".
      score: on the lines as they are.
      mean: over the resampled sets of lines.
      interval: the middle 95 per cent of the resampled scores, as sacreBLEU gives it:
        half its width to either side of `mean`.
      p_value: of the difference to the baseline. None for the baseline itself, and
        where the two scores are equal.
      signature: how it was counted, with the number of samples and the seed.
      brevity_penalty: of sacreBLEU, on the lines as they are; None for chrF2.
      length_ratio: tokens for each one of the reference, likewise.
    """

    system: str
    metric: str
    score: float
    mean: float
    interval: tuple[float, float]
    p_value: float | None
    signature: str
    brevity_penalty: float | None = None
    length_ratio: float | None = None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two systems on the same lines.

    Attributes:
      scores: for each metric those of the baseline, then of the hypothesis.
      num_sentences: lines scored.
      num_samples: resampled sets of lines.
      seed: of the resampling.
      notes: what a reader of the scores should know.
      test_set: which text was scored; None if nobody said.
    """

    scores: tuple[SystemScore, ...]
    num_sentences: int
    num_samples: int
    seed: int
    notes: tuple[str, ...]
    test_set: ScoredText | None = None

    def as_dict(self) -> dict[str, object]:
        """Return what JSON can hold, with scores rounded to four decimals."""
        fields = dataclasses.asdict(self)
        fields["notes"] = list(self.notes)
        fields["test_set"] = self.test_set and str(self.test_set)
        for score in fields["scores"]:
            score["interval"] = [round(end, 4) for end in score["interval"]]
            for name in ("score", "mean", "brevity_penalty", "length_ratio"):
                score[name] = None if score[name] is None else round(score[name], 4)
            if score["p_value"] is not None:  # As small as 1 / (num_samples + 1).
                score["p_value"] = float(f"{score['p_value']:.4g}")
        return fields

    def table(self) -> str:
        """Return a text table, with the signature of each score below."""
        header = "score", "system", "value", "95 % interval", "p-value"
        rows: list[tuple[str, ...]] = [(*header, "brevity penalty", "length ratio")]
        for score in self.scores:
            low, high = score.interval
            p_value = "" if score.p_value is None else _p_value(score.p_value)
            rows.append(
                (
                    score.metric,
                    score.system,
                    f"{score.score:.2f}",
                    f"{low:.2f} to {high:.2f}",
                    p_value,
                    *(
                        "" if value is None else f"{value:.3f}"
                        for value in (score.brevity_penalty, score.length_ratio)
                    ),
                )
            )
        signatures = {score.metric: score.signature for score in self.scores}
        below = [
            f"sentences: {describe_length(self.num_sentences, self.test_set)}",
            f"paired bootstrap: {self.num_samples} samples, seed {self.seed}",
            *(f"{metric}: {text}" for metric, text in signatures.items()),
            *(f"note: {note}" for note in self.notes),
        ]
        table = text_table(rows, right=range(2, 7))
        return "\n".join([table, "", *map(paragraph, below)])


def _p_value(value: float) -> str:
    return f"{value:.3f}" if value >= 0.0005 else "<0.001"


def compare(
    hypotheses: Sequence[str],
    baselines: Sequence[str],
    references: Sequence[str],
    target_language: str,
    *,
    more_references: Sequence[Sequence[str]] = (),
    sources: Sequence[str] | None = None,
    tokenizer: str | None = None,
    num_samples: int = NUM_SAMPLES,
    test_set: ScoredText | None = None,
) -> Comparison:
    """Test whether one system's translations score differently from another's.

    The same lines give the same numbers each time: the seed is `SEED`, whatever
    SACREBLEU_SEED says in the environment.

    Args:
      hypotheses: of the system that is to be judged, one a line.
      baselines: of the system that it is compared with.
      references: one reference a line.
      target_language: code of the language of all three.
      more_references: other references, each of as many lines.
      sources: what was translated; used to find untranslated output.
      tokenizer: of sacreBLEU; None: the one that fits the language.
      num_samples: how many sets of lines to draw; p-values are no finer than
        1 / (num_samples + 1).
      test_set: what the lines are called.

    Raises:
      UserError: if the lines cannot be scored, or the two systems say the same.
    """
    if num_samples < 1:
        raise UserError(
            f"A bootstrap over {num_samples} samples is none. Draw 1 or more; "
            f"{NUM_SAMPLES} are usual."
        )
    language = normalise_language(target_language)
    all_references = (references, *more_references)
    systems = {"baseline": baselines, "hypothesis": hypotheses}
    notes = _check_systems(systems, all_references, sources)
    if len(references) < _FEW_LINES:
        notes.append(
            f"{len(references)} lines are few: draws from them say little about others."
        )
    bleu = sacrebleu_metric(language, tokenizer)
    notes += describe_tokenisation(language, bleu.tokenizer_signature, all_references)
    lengths = {}
    for side, lines in systems.items():
        whole = bleu.corpus_score(lines, all_references)
        notes += suspicions.find_oddities_of_score(whole, side=side)
        lengths[side] = {"brevity_penalty": whole.bp, "length_ratio": whole.ratio}
    scores = []
    for name, metric in (("sacreBLEU", bleu), ("chrF2", sacrebleu.CHRF())):
        of_metric, its_notes = _bootstrap(
            systems, name, metric, all_references, num_samples
        )
        if metric is bleu:
            of_metric = [
                dataclasses.replace(score, **lengths[score.system])
                for score in of_metric
            ]
        scores += of_metric
        notes += its_notes
    return Comparison(
        scores=tuple(scores),
        num_sentences=len(references),
        num_samples=num_samples,
        seed=SEED,
        notes=tuple(notes) + (test_set.notes if test_set is not None else ()),
        test_set=test_set,
    )


def _check_systems(
    systems: dict[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None,
) -> list[str]:
    """Refuse what cannot be compared, and return notes on what looks odd."""
    notes: list[str] = []
    for side, lines in reversed(systems.items()):
        for reference in references:
            suspicions.require_scorable(lines, reference, sources, side=side)
        notes += suspicions.find_suspicions(
            lines, references[0], sources, more_references=references[1:], side=side
        )
    baselines, hypotheses = map(list, systems.values())
    if hypotheses == baselines:
        raise UserError(
            f"Hypothesis and baseline hold the same {len(hypotheses)} lines, so that "
            "there is no difference to test. Give the translations of two systems."
        )
    return list(dict.fromkeys(notes))


def _bootstrap(
    systems: Mapping[str, Sequence[str]],
    name: str,
    metric: Metric,
    references: Sequence[Sequence[str]],
    num_samples: int,
) -> tuple[list[SystemScore], list[str]]:
    """Score the baseline and the hypothesis by one metric, as they are and on draws.

    Returns:
      The scores, in the order of `systems`, and what is to be noted.
    """
    with _quiet_and_seeded():
        test = PairedTest(
            list(systems.items()),
            {name: metric},
            references,
            "bs",
            n_samples=num_samples,
        )
        signatures, results = test()
    ((label, signature),) = signatures.items()
    baseline, hypothesis = (
        result for result in results[label] if isinstance(result, Result)
    )
    notes = []
    # sacreBLEU counts the draws that stray further: none where draws do not differ,
    # which it would call certain.
    if hypothesis.score == baseline.score:
        hypothesis.p_value = None
        notes.append(f"The {name} of both is equal, so that it has no p-value.")
    elif not (hypothesis.ci or baseline.ci):
        hypothesis.p_value = None
        notes.append(f"No draw has another {name}, so that it has no p-value.")
    scores = [
        _describe(system, name, result, str(signature))
        for system, result in zip(systems, (baseline, hypothesis), strict=True)
    ]
    return scores, notes


def _describe(system: str, metric: str, result: Result, signature: str) -> SystemScore:
    """Bring a result of sacreBLEU into our form, without numpy's types."""
    if result.mean is None or result.ci is None:
        raise ValueError(f"sacreBLEU resampled no {metric}: {result}.")
    mean, half_width = float(result.mean), float(result.ci)
    return SystemScore(
        system=system,
        metric=metric,
        score=float(result.score),
        mean=mean,
        interval=(mean - half_width, mean + half_width),
        p_value=None if result.p_value is None else float(result.p_value),
        signature=signature,
    )


@contextlib.contextmanager
def _quiet_and_seeded() -> Iterator[None]:
    """Keep sacreBLEU's messages to itself, and its seed to ours."""
    logger = logging.getLogger("sacrebleu")
    level, seed = logger.level, os.environ.get("SACREBLEU_SEED")
    logger.setLevel(logging.ERROR)
    os.environ["SACREBLEU_SEED"] = str(SEED)
    try:
        yield
    finally:
        logger.setLevel(level)
        del os.environ["SACREBLEU_SEED"]
        if seed is not None:
            os.environ["SACREBLEU_SEED"] = seed
