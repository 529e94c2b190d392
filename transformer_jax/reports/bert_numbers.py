"""The scores of BERT's paper (Devlin et al. 2018, Tables 1 to 4)."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class BertResult:
    """A task of the paper; None where the paper has no figure.

    Attributes:
      row: the task's short name, that of its config and of a run's folder.
      task: its name, with its number of training examples or the set that is scored.
      metric: what is scored, in percent.
      base: BERT base, on GLUE's test set unless `task` says otherwise.
      large: BERT large, likewise.
      score: the name of that score here; "" where it is not a task of classes.
      folder: of GLUE's own files.
    """

    row: str
    task: str
    metric: str
    base: float | None
    large: float | None
    score: str = ""
    folder: str = ""


# Of MNLI the matched half; of SQuAD single models.
BERT_RESULTS = (
    BertResult("mnli", "MNLI, 392k", "accuracy", 84.6, 86.7, "accuracy", "MNLI"),
    BertResult("qqp", "QQP, 363k", "F1", 71.2, 72.1, "f1", "QQP"),
    BertResult("qnli", "QNLI, 108k", "accuracy", 90.5, 92.7, "accuracy", "QNLI"),
    BertResult("sst2", "SST-2, 67k", "accuracy", 93.5, 94.9, "accuracy", "SST-2"),
    BertResult("cola", "CoLA, 8.5k", "Matthews", 52.1, 60.5, "matthews", "CoLA"),
    BertResult("stsb", "STS-B, 5.7k", "Spearman", 85.8, 86.5),
    BertResult("mrpc", "MRPC, 3.5k", "F1", 88.9, 89.3, "f1", "MRPC"),
    BertResult("rte", "RTE, 2.5k", "accuracy", 66.4, 70.1, "accuracy", "RTE"),
    BertResult("squad1", "SQuAD 1.1, dev", "F1", 88.5, 90.9),
    BertResult("squad2", "SQuAD 2.0, test", "F1", None, 83.1),
    BertResult("swag", "SWAG, dev", "accuracy", 81.6, 86.6),
)
