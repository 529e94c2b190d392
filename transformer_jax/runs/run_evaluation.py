"""A run, evaluated: translate a text with it, and score."""

import dataclasses
import hashlib
import itertools
import logging
import os
import types
from collections.abc import Mapping, Sequence
from typing import Any

import ml_collections
from tqdm import tqdm

from transformer_jax.data.lines import read_lines
from transformer_jax.decoding.translator import Translator
from transformer_jax.decoding.translator_settings import TranslatorSettings
from transformer_jax.errors import UserError
from transformer_jax.evaluation.comet import CometMetric
from transformer_jax.evaluation.languages import (
    sacrebleu_metric,
)
from transformer_jax.evaluation.phenomenon_scores import (
    PhenomenonScores,
    score_phenomena,
)
from transformer_jax.evaluation.scored_text import ScoredText, name_test_set
from transformer_jax.evaluation.scores import Scores, score
from transformer_jax.files import as_path, read_checked_json
from transformer_jax.grammar.phenomena import PHENOMENA, phenomenon_examples
from transformer_jax.language_codes import normalise_language, short_code
from transformer_jax.runs.averages import find_doubts, is_comparable
from transformer_jax.runs.corpus import tokens_directory
from transformer_jax.runs.repetition_record import (
    describe,
    file_repetitions,
    read_repetitions,
)
from transformer_jax.runs.trained_run import TrainedRun

_LOGGER = logging.getLogger(__name__)
_EXAMPLES_PER_PHENOMENON = 200


@dataclasses.dataclass(frozen=True)
class RunEvaluation:
    """What a run made of a text.

    Attributes:
      sources: the text, line by line.
      references: its right translation, the first one where there are several.
      hypotheses: the run's.
      scores: of the hypotheses.
      phenomena: the grammar corpus's suite; None where it was not asked for.
      name: says which text, weights and search.
      produced_by: of which text, weights and search the scores are, for JSON.
    """

    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Sequence[str]
    scores: Scores
    phenomena: PhenomenonScores | None
    name: str
    produced_by: Mapping[str, Any]

    @property
    def report(self) -> dict[str, Any]:
        """The scores and what they were produced by, for JSON."""
        report = self.scores.as_dict() | {"produced_by": self.produced_by}
        if self.phenomena is not None:
            report["phenomena"] = self.phenomena.as_dict()
        return report


def evaluate_run(
    run: TrainedRun,
    search: Mapping[str, Any] = types.MappingProxyType({}),
    *,
    split: str = "test",
    files: Sequence[str] | None = None,
    with_phenomena: bool = False,
    tokenizer: str | None = None,
    comet: CometMetric | None = None,
) -> RunEvaluation:
    """Translate with a run, and score; nothing is written.

    Args:
      run: with the weights to use.
      search: settings of the translator that differ from the run's config.
      split: which of the run's own splits to translate, if no `files` are given.
      files: a source to translate instead, and its right translations, one or more.
      with_phenomena: also score the grammar corpus's phenomena, one by one.
      tokenizer: of sacreBLEU; None: the one that fits the language.
      comet: a model that scores as well.

    Raises:
      UserError: if there is no such text, its sides differ in length, or it cannot be
        scored.
    """
    if with_phenomena and run.config.data.source != "grammar":
        raise UserError(
            f"--phenomena is for runs on the built-in corpus; {run.directory.root} was "
            f"trained with config.data.source={run.config.data.source!r}."
        )
    translator = run.translator(**search)
    texts = read_aligned(*files) if files else run.directory.read_split(split)
    sources, references, *more_references = texts
    # Whatever may fail comes before the long work.
    source_path = files[0] if files else None
    test_set = _describe_text(run, split, source_path, (sources, references))
    language = run.config.data.target_language
    sacrebleu_metric(normalise_language(language), tokenizer)
    hypotheses = _translate(translator, sources)
    scores = score(
        hypotheses,
        references,
        language,
        more_references=more_references,
        sources=sources,
        tokenizer=tokenizer,
        comet=comet,
        test_set=test_set,
    )
    settings = translator.settings
    is_validation = files is None and split == "validation" and tokenizer is None
    notes = note_mean(run, settings, scores.sacrebleu if is_validation else None)
    extras = ["phenomena"] * with_phenomena + ["comet"] * (comet is not None)
    extras += [f"references{len(more_references) + 1}"] * bool(more_references)
    extras += [] if tokenizer is None else [f"tok-{tokenizer}"]
    if settings.min_length != run.config.decoding.min_length:
        extras.append(f"min{settings.min_length}")
    text = file_name(files[0], sources) if files else split
    return RunEvaluation(
        sources,
        references,
        hypotheses,
        scores=dataclasses.replace(scores, notes=(*scores.notes, *notes)),
        phenomena=_score_phenomena(run, translator) if with_phenomena else None,
        name=evaluation_name(text, run.steps, settings, extras),
        produced_by={
            "split": None if files else split,
            "source_file": source_path,
            "checkpoint_steps": list(run.steps),
            "is_average": len(run.steps) > 1,
            **dataclasses.asdict(settings),
        },
    )


def _describe_text(
    run: TrainedRun,
    split: str,
    source_path: str | None,
    sides: Sequence[Sequence[str]],
) -> ScoredText:
    """Name a split or a file, and say how much of it the run was trained on."""
    text = name_split_or_file(run.config.data, split, source_path, len(sides[0]))
    if source_path is None:
        known = read_repetitions(run.directory)
        notes = describe({n: known[n] for n in ("train", split) if n in known})
    else:
        tokens = tokens_directory(run.config, run.directory)
        notes = describe(file_repetitions(run.directory, tokens, sides, run.tokenizers))
    return dataclasses.replace(text, notes=text.notes + notes)


def note_mean(
    run: TrainedRun, settings: TranslatorSettings, score: float | None
) -> list[str]:
    """Say what speaks against the mean of checkpoints that a run is used with.

    Args:
      run: with its weights.
      settings: of the search.
      score: sacreBLEU on the validation split; None: the one that was kept, if any.
    """
    if len(run.steps) < 2:
        return []
    if score is None:
        score = _kept_score(run, settings)
    if not is_comparable(settings.beam_size, run.config.evaluation.beam_size):
        score = None
    doubts = find_doubts(
        run.steps,
        run.config.optimizer.warmup_steps,
        run.directory.read_metrics(),
        score,
    )
    notes = [f"The mean of {len(run.steps)} checkpoints {doubt}." for doubt in doubts]
    if score is None:
        notes.append(
            "Whether the mean is better than the best single checkpoint is for the "
            "validation split to say: --split validation scores it."
        )
    return notes


def _kept_score(run: TrainedRun, settings: TranslatorSettings) -> float | None:
    """Return what these weights scored on the validation split, if that was kept."""
    name = evaluation_name("validation", run.steps, settings)
    kept = read_checked_json(run.directory.evaluation / f"{name}.json") or {}
    return kept.get("sacrebleu")


def read_aligned(*paths: str) -> list[list[str]]:
    """Read files whose lines belong together.

    Raises:
      UserError: if their numbers of lines differ, or one cannot be read.
    """
    texts = [read_lines(path) for path in paths]
    for path, lines in zip(paths, texts, strict=True):
        if len(lines) != len(texts[0]):
            raise UserError(
                f"{paths[0]} has {len(texts[0])} lines, {path} has {len(lines)}. "
                "Give files whose lines belong together."
            )
    return texts


def file_name(path: str | os.PathLike[str], lines: Sequence[str] = ()) -> str:
    """Return a name for a file's evaluations: those of namesakes have another.

    A pipe, which has no name, is called after the lines that came out of it.
    """
    resolved = as_path(path).resolve()
    if lines and not resolved.is_file():
        return f"pipe@{_hash(repr(lines))}"
    return f"{resolved.name}@{_hash(str(resolved))}"


def evaluation_name(
    text: str,
    steps: Sequence[int],
    settings: TranslatorSettings,
    extras: Sequence[str] = (),
) -> str:
    """Name an evaluation's files after its text, weights, search and extra scores."""
    search = f"beam{settings.beam_size}.{settings.length_penalty}{settings.alpha:g}"
    return ".".join([text, weights_name(steps), search, *extras])


def weights_name(steps: Sequence[int]) -> str:
    """Name the weights of a step, or the mean of several.

    Two choices of weights share a name only if they are the same steps: a number of
    steps and both ends say everything about steps at equal distances; for others, a
    hash of the steps is added.
    """
    weights = f"step-{steps[-1]}"
    if len(steps) > 1:
        weights = f"average{len(steps)}-{steps[0]}-{steps[-1]}"
        if len({after - before for before, after in itertools.pairwise(steps)}) > 1:
            weights += f"-{_hash(repr(tuple(steps)))}"
    return weights


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def name_split_or_file(
    data: ml_collections.ConfigDict,
    split: str,
    source_path: str | None,
    num_lines: int,
) -> ScoredText:
    """Name a file, or a split of a run after what its config says it is of."""
    languages = {short_code(data.source_language), short_code(data.target_language)}
    if source_path is None and data.source == "files":
        paths = data[f"{split}_source"]
        if "," not in paths:
            source_path = paths
    if source_path is not None:
        return name_test_set(source_path, num_lines, languages)
    data_set = data.source
    if data.source == "tfds":
        data_set = data.tfds.name or data.tfds.directory
    return name_test_set(split, num_lines, languages, data_set=data_set)


def _translate(translator: Translator, sources: Sequence[str]) -> list[str]:
    """Translate all lines, and say how many were in pieces or perhaps cut off."""
    with tqdm(total=len(sources), unit="line", leave=False, disable=None) as bar:
        translations = translator.translate(sources, progress=bar.update)
    if in_pieces := sum(translation.num_pieces > 1 for translation in translations):
        _LOGGER.warning("%d lines were too long and translated in pieces", in_pieces)
    if cut := sum(translation.candidates[0].is_cut for translation in translations):
        _LOGGER.warning(
            "%d translations are as long as they may be (decoding.max_extra_length=%d) "
            "and may have been cut off",
            cut,
            translator.settings.max_extra_length,
        )
    return [translation.text for translation in translations]


def _score_phenomena(run: TrainedRun, translator: Translator) -> PhenomenonScores:
    """Score each phenomenon of the grammar corpus by itself."""
    examples = {
        name: phenomenon_examples(name, _EXAMPLES_PER_PHENOMENON, run.config.seed)
        for name in PHENOMENA
    }
    return score_phenomena(
        lambda sources: [line.text for line in translator.translate(sources)], examples
    )
