"""A run, evaluated: translate a text with it, score, and keep both in the run."""

import dataclasses
import hashlib
import itertools
import logging
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import ml_collections
from tqdm import tqdm

from transformer_jax.data.lines import read_lines
from transformer_jax.decoding.translator import Translator, TranslatorSettings
from transformer_jax.errors import UserError
from transformer_jax.evaluation.comet import CometMetric
from transformer_jax.evaluation.phenomenon_scores import (
    PhenomenonScores,
    score_phenomena,
)
from transformer_jax.evaluation.scored_text import ScoredText, name_test_set
from transformer_jax.evaluation.scores import Scores, score
from transformer_jax.grammar.phenomena import PHENOMENA, phenomenon_examples
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
      references: its right translation.
      hypotheses: the run's.
      scores: of the hypotheses.
      phenomena: the grammar corpus's suite; None where it was not asked for.
    """

    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Sequence[str]
    scores: Scores
    phenomena: PhenomenonScores | None


def evaluate_run(
    run: TrainedRun,
    search: Mapping[str, Any],
    *,
    split: str = "test",
    files: tuple[str, str] | None = None,
    with_phenomena: bool = False,
    comet: CometMetric | None = None,
) -> RunEvaluation:
    """Translate with a run, score, and keep scores and translations in it.

    Args:
      run: with the weights to use.
      search: settings of the translator that differ from the run's config.
      split: which of the run's own splits to translate, if no `files` are given.
      files: a source to translate instead, and its right translation.
      with_phenomena: also score the grammar corpus's phenomena, one by one.
      comet: a model that scores as well.

    Raises:
      UserError: if there is no such text, or its two sides differ in length.
    """
    if with_phenomena and run.config.data.source != "grammar":
        raise UserError(
            f"--phenomena is for runs on the built-in corpus; {run.directory.root} was "
            f"trained with config.data.source={run.config.data.source!r}."
        )
    translator = run.translator(**search)
    if files is not None:
        sources, references = read_pair(*files)
        text = file_name(files[0], sources)
    else:
        sources, references = run.directory.read_split(split)
        text = split
    # Whatever may fail comes before the long work.
    test_set = name_split_or_file(
        run.config.data, split, files and files[0], len(sources)
    )
    if files is None:
        counted = read_repetitions(run.directory)
        counted = {name: counted[name] for name in ("train", split) if name in counted}
    else:
        tokens, sides = (
            tokens_directory(run.config, run.directory),
            (sources, references),
        )
        counted = file_repetitions(run.directory, tokens, sides, run.tokenizers)
    test_set = dataclasses.replace(test_set, notes=test_set.notes + describe(counted))
    hypotheses = _translate(translator, sources)
    scores = score(
        hypotheses,
        references,
        run.config.data.target_language,
        sources=sources,
        comet=comet,
        test_set=test_set,
    )
    phenomena = _score_phenomena(run, translator) if with_phenomena else None
    report = scores.as_dict() | {
        "produced_by": {
            "split": None if files else split,
            "source_file": files and files[0],
            "checkpoint_steps": list(run.steps),
            "is_average": len(run.steps) > 1,
            **dataclasses.asdict(translator.settings),
        }
    }
    if phenomena is not None:
        report["phenomena"] = phenomena.as_dict()
    extras = ["phenomena"] * with_phenomena + ["comet"] * (comet is not None)
    name = evaluation_name(text, run.steps, translator.settings, extras)
    run.directory.write_evaluation(name, report, hypotheses)
    return RunEvaluation(sources, references, hypotheses, scores, phenomena)


def read_pair(source: str, reference: str) -> tuple[list[str], list[str]]:
    """Read two files whose lines belong together.

    Raises:
      UserError: if their numbers of lines differ, or one cannot be read.
    """
    sources, references = read_lines(source), read_lines(reference)
    if len(sources) != len(references):
        raise UserError(
            f"{source} has {len(sources)} lines, {reference} has {len(references)}. "
            "Give files whose lines belong together."
        )
    return sources, references


def file_name(path: str, lines: Sequence[str] = ()) -> str:
    """Return a name for a file's evaluations: those of namesakes have another.

    A pipe, which has no name, is called after the lines that came out of it.
    """
    resolved = pathlib.Path(path).resolve()
    if lines and not resolved.is_file():
        return f"pipe@{_hash(repr(lines))}"
    return f"{resolved.name}@{_hash(str(resolved))}"


def evaluation_name(
    text: str,
    steps: Sequence[int],
    settings: TranslatorSettings,
    extras: Sequence[str] = (),
) -> str:
    """Name an evaluation's files after its text, weights, search and extra scores.

    Two choices of weights share a name only if they are the same steps: a number of
    steps and both ends say everything about steps at equal distances; for others, a
    hash of the steps is added.
    """
    weights = f"step-{steps[-1]}"
    if len(steps) > 1:
        weights = f"average{len(steps)}-{steps[0]}-{steps[-1]}"
        if len({after - before for before, after in itertools.pairwise(steps)}) > 1:
            weights += f"-{_hash(repr(tuple(steps)))}"
    search = f"beam{settings.beam_size}.{settings.length_penalty}{settings.alpha:g}"
    return ".".join([text, weights, search, *extras])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def name_split_or_file(
    data: ml_collections.ConfigDict,
    split: str,
    source_path: str | None,
    num_lines: int,
) -> ScoredText:
    """Name a file, or a split of a run after what its config says it is of."""
    languages = {data.source_language.lower(), data.target_language.lower()}
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
    """Translate all lines, and say how many were too long for one piece."""
    with tqdm(total=len(sources), unit="line", leave=False, disable=None) as bar:
        translations = translator.translate(sources, progress=bar.update)
    if warned := sum(bool(translation.warnings) for translation in translations):
        _LOGGER.warning("%d lines were too long and translated in pieces", warned)
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
