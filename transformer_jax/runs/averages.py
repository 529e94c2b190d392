"""What speaks against a mean of checkpoints (Section 6.1)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def is_comparable(beam_size: int, validation_beam_size: int) -> bool:
    """Whether a mean's score can be held against those of single checkpoints.

    Those were validated with `validation_beam_size`; a narrower search scores lower by
    itself.
    """
    return beam_size >= validation_beam_size


def find_doubts(
    steps: Sequence[int],
    warmup_steps: int,
    metrics: Iterable[Mapping[str, Any]] = (),
    score: float | None = None,
) -> list[str]:
    """Return each reason not to take a mean of several checkpoints: it "begins ...".

    Args:
      steps: of the checkpoints, in rising order; one alone is no mean.
      warmup_steps: updates in which the learning rate rises.
      metrics: the rows of the run's `metrics.jsonl`.
      score: sacreBLEU of the mean on the validation split, if it is known.
    """
    if len(steps) < 2:
        return []
    doubts = []
    if steps[0] < warmup_steps:
        doubts.append(
            f"begins at step {steps[0]}, within the warm-up of {warmup_steps} steps"
        )
    singles = {
        row["step"]: row["validation/sacrebleu"]
        for row in metrics
        if row.get("validation/sacrebleu") is not None
    }
    best = max(singles, key=singles.__getitem__, default=None)
    if score is not None and best is not None and score < singles[best]:
        doubts.append(
            f"has a sacreBLEU of {score:.2f} on the validation split, step {best} "
            f"alone {singles[best]:.2f}"
        )
    return doubts
