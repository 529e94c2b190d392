"""A run that classifies, evaluated on one of its splits."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from transformer_jax.data.text_source import Text
from transformer_jax.evaluation.class_scores import ClassScores, score_classes
from transformer_jax.runs.run_evaluation import weights_name
from transformer_jax.runs.trained_run import TrainedRun


@dataclasses.dataclass(frozen=True)
class ClassEvaluation:
    """What a run made of a labelled text.

    Attributes:
      texts: their sentences.
      truths: the right label of each, or the labels of its words with spaces between.
      guesses: the run's.
      scores: of the guesses.
      name: says which text and weights.
      produced_by: likewise, for JSON.
    """

    texts: Sequence[Text]
    truths: Sequence[str]
    guesses: Sequence[str]
    scores: ClassScores
    name: str
    produced_by: Mapping[str, Any]

    @property
    def report(self) -> dict[str, Any]:
        """The scores and what they were produced by, for JSON."""
        return self.scores.as_dict() | {"produced_by": self.produced_by}


def evaluate_classes(run: TrainedRun, split: str = "test") -> ClassEvaluation:
    """Classify a split with a run, and score; nothing is written.

    Raises:
      UserError: if the run does not classify, or has no such split.
    """
    classifier = run.classifier()
    labels = classifier.labels
    *sentences, truths = run.directory.read_split(split, run.parts.task.sides)
    texts = list(zip(*sentences, strict=True))
    found = classifier.classify(texts)
    return ClassEvaluation(
        texts,
        truths,
        guesses=[labels.join(prediction.classes) for prediction in found],
        scores=score_classes(
            [number for prediction in found for number in prediction.classes],
            [number for of_text in labels.encode(truths) for number in of_text],
            labels.vocab_size,
        ),
        name=f"{split}.{weights_name(run.steps)}",
        produced_by={
            "split": split,
            "checkpoint_steps": list(run.steps),
            "is_average": len(run.steps) > 1,
            "num_texts": len(texts),
        },
    )
