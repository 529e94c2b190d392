"""What a report reads of a run: its config, its metrics and its scores."""

import collections
import dataclasses
import logging
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transformer_jax.data.repeated_texts import Repetitions
from transformer_jax.files import as_path, read_checked_json
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.hardware_record import read_hardware
from transformer_jax.runs.repetition_record import describe, read_repetitions
from transformer_jax.training.params_choice import highest, is_score

_LOGGER = logging.getLogger(__name__)
_SCORE = "validation/sacrebleu"


@dataclasses.dataclass(frozen=True)
class RunSummary:
    """A run as far as reports look at it.

    Attributes:
      name: of its directory.
      directory: its paths.
      config: every field, as nested mappings.
      steps: updates done, by its last metrics; 0 before the first.
      perplexity: the lowest on the validation split; None before the first validation.
      best_step: of the highest sacreBLEU on it; None while there is none above 0.
      validation: what the last validation found, such as "sacrebleu"; empty before.
      tokens_per_second: of the target, or of single texts: the median over the run;
        None before the first report.
      seconds: of training, validation and saves left out; None where a report lacks
        it, as those of older runs do.
      source_tokens: real pieces of the source side that were trained on, likewise.
      target_tokens: of the target side.
      tokens: of single texts, for a task that has no other side.
      predictions: places that such a task predicted.
      hardware: what it was trained on, in order.
      evaluations: what `evaluate` wrote, by the name of its file.
      repetitions: of each split, how many texts are trained on as well; empty for runs
        from before that was counted.
    """

    name: str
    directory: RunDirectory
    config: Mapping[str, Any]
    steps: int
    perplexity: float | None
    best_step: int | None
    validation: Mapping[str, float]
    tokens_per_second: float | None
    seconds: float | None
    source_tokens: float | None
    target_tokens: float | None
    tokens: float | None
    predictions: float | None
    hardware: Sequence[Mapping[str, Any]]
    evaluations: Mapping[str, Mapping[str, Any]]
    repetitions: Mapping[str, Repetitions]

    @property
    def warnings(self) -> list[str]:
        """What a reader of any score of the run should know."""
        return [f"{self.name}: {note}" for note in describe(self.repetitions)]

    def describe_hardware(self) -> str:
        """Name what it was trained on, and from which step where it changed."""
        parts = []
        for entry in self.hardware:
            text = f"{entry['num_devices']} x {entry['device_kind']}"
            if entry["device_kind"] == "cpu":
                cores = entry["num_logical_cores"]
                text += f" ({entry['processor']}, {cores} logical cores)"
            if len(self.hardware) > 1:
                text += f" from step {entry['from_step']}"
            parts.append(text)
        return "; ".join(parts)


def read_runs(workdirs: Sequence[str | os.PathLike[str]]) -> list[RunSummary]:
    """Read runs, each once; those whose folders have one name are called by their path.

    Raises:
      UserError: if one is no run.
    """
    paths = {as_path(workdir).resolve(): str(workdir) for workdir in workdirs}
    runs = [read_run(given) for given in paths.values()]
    counts = collections.Counter(run.name for run in runs)
    return [
        run if counts[run.name] == 1 else dataclasses.replace(run, name=given)
        for run, given in zip(runs, paths.values(), strict=True)
    ]


def read_run(workdir: str | os.PathLike[str]) -> RunSummary:
    """Read a run.

    Raises:
      UserError: if this is not a run.
    """
    directory = RunDirectory(workdir)
    config = directory.read_config().to_dict()
    metrics = directory.read_metrics()
    perplexities = _values(metrics, "validation/perplexity")
    scores = {row["step"]: row[_SCORE] for row in metrics if is_score(row.get(_SCORE))}
    speeds = _values(metrics, "train/target_tokens_per_second") or _values(
        metrics, "train/tokens_per_second"
    )
    return RunSummary(
        name=directory.root.resolve().name,
        directory=directory,
        config=config,
        steps=max((row["step"] for row in metrics), default=0),
        perplexity=min(perplexities, default=None),
        best_step=highest(scores),
        validation=_last_validation(metrics),
        tokens_per_second=statistics.median(speeds) if speeds else None,
        seconds=_total(metrics, "train/seconds"),
        source_tokens=_total(metrics, "train/source_tokens"),
        target_tokens=_total(metrics, "train/target_tokens"),
        tokens=_total(metrics, "train/tokens"),
        predictions=_total(metrics, "train/predictions"),
        hardware=read_hardware(directory),
        evaluations=dict(_read_evaluations(directory)),
        repetitions=read_repetitions(directory),
    )


def _read_evaluations(
    directory: RunDirectory,
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what `evaluate` wrote, by name; other files are nobody's business."""
    # Each evaluation has its translations beside it.
    translations = directory.evaluation.glob("*.beam*.txt")
    scores = {path.with_suffix(".json") for path in translations}
    for path in sorted({*directory.evaluation.glob("*.json"), *scores}):
        report = read_checked_json(path)
        if report is not None and "produced_by" in report:
            yield path.stem, report
        elif path in scores:
            _LOGGER.warning(
                "%s is missing or damaged, and left out; evaluate anew.", path
            )


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [row[name] for row in rows if row.get(name) is not None]


def _last_validation(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the numbers of the last row that has any of the validation split."""
    prefix = "validation/"
    for row in reversed(rows):
        found = {
            name.removeprefix(prefix): value
            for name, value in row.items()
            if name.startswith(prefix)
        }
        if found:
            return found
    return {}


def _total(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """Add up a number of all reports of training; None if one of them lacks it."""
    reports = [row for row in rows if "train/loss" in row]
    values = _values(reports, name)
    return sum(values) if values and len(values) == len(reports) else None
