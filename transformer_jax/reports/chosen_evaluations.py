"""Which evaluations speak for a run: a test set counts once, not once a try."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from transformer_jax.files import as_path
from transformer_jax.reports.run_summary import RunSummary
from transformer_jax.runs.run_evaluation import file_name, name_split_or_file

_SEARCH = ("beam_size", "length_penalty", "alpha", "min_length", "max_extra_length")
# What an evaluation's name begins with: its text.
_TEXT = re.compile(r"(.+)\.(?:step-|average)\d")
# How `ScoredText` ends the names of what is the same text everywhere.
_SAME_EVERYWHERE = ("(full)", "(filtered)")


@dataclasses.dataclass(frozen=True)
class ChosenEvaluation:
    """An evaluation, and in words what it is of.

    Attributes:
      test_set: the text.
      weights: the checkpoint, or the mean of several.
      search: beam and length penalty.
      scores: what was written down.
    """

    test_set: str
    weights: str
    search: str
    scores: Mapping[str, Any]


def choose_evaluations(run: RunSummary) -> tuple[list[ChosenEvaluation], int]:
    """Choose one evaluation of each test set by one checkpoint, and one by a mean.

    Of several, the one with the run's own search is chosen; then that of the best
    checkpoint, or of the most averaged ones; then the latest; then the plain one,
    without other tokenizers or more references. The validation split, which chooses
    among checkpoints, is no test set, also where it was given as a file.

    Returns:
      chosen: by test set.
      left_out: how many evaluations of these test sets are not chosen.
    """
    groups: dict[tuple[str, bool], list[str]] = {}
    for name, evaluation in run.evaluations.items():
        if text := _test_set(run, name):
            is_mean = evaluation["produced_by"]["is_average"]
            groups.setdefault((text, is_mean), []).append(name)
    chosen = []
    for (text, _), names in sorted(groups.items()):
        scores = run.evaluations[max(names, key=lambda name: rank(run, name))]
        by = scores["produced_by"]
        chosen.append(
            ChosenEvaluation(
                _title(run, text, scores),
                _describe_weights(by["checkpoint_steps"], run.best_step),
                f"beam {by['beam_size']}, {by['length_penalty']} {by['alpha']:g}",
                scores,
            )
        )
    return chosen, sum(map(len, groups.values())) - len(chosen)


def _test_set(run: RunSummary, name: str) -> str | None:
    """Return what tells a test set from others; None where it is none."""
    evaluation = run.evaluations[name]
    data = run.directory.read_config().data
    validation = name_split_or_file(
        data, "validation", None, evaluation["num_sentences"]
    )
    known = evaluation.get("test_set") or ""
    if known.endswith(_SAME_EVERYWHERE):
        return None if known == str(validation) else known
    match = _TEXT.match(name)
    text = match[1] if match else name
    if data.source == "files":
        for split in ("test", "validation"):
            if path := data[f"{split}_source"]:
                own = file_name(as_path(data.directory) / path)
                text = split if text == own else text
    return None if text in ("train", "validation") else text


def _title(run: RunSummary, text: str, scores: Mapping[str, Any]) -> str:
    """Name a test set, and its file where others of the run are called the same."""
    title = scores.get("test_set") or text
    texts = {
        _test_set(run, name)
        for name, other in run.evaluations.items()
        if other.get("test_set") == title
    }
    source = scores["produced_by"].get("source_file")
    return f"{title}, {source}" if source and len(texts - {None}) > 1 else title


def rank(run: RunSummary, name: str) -> tuple[Any, ...]:
    """Return what is larger for an evaluation that should rather speak for a run."""
    by, own = run.evaluations[name]["produced_by"], run.config["decoding"]
    steps = by["checkpoint_steps"]
    return (
        all(by[field] == own[field] for field in _SEARCH if field in by),
        len(steps),
        steps == [run.best_step],
        steps[-1],
        -len(name),
    )


def _describe_weights(steps: Sequence[int], best: int | None) -> str:
    if len(steps) > 1:
        return f"mean of {len(steps)}, steps {steps[0]} to {steps[-1]}"
    return f"step {steps[0]}" + ", the best" * (steps[0] == best)
