"""What is learnt: objective, batches, validation and the score that is best."""

from collections.abc import Callable
from typing import Any, NamedTuple

from transformer_jax.tasks.classification import (
    ClassificationSettings,
    TaggingSettings,
    classification,
    tagging,
)
from transformer_jax.tasks.masked_language_model import (
    MaskedLanguageModelSettings,
    masked_language_model,
)
from transformer_jax.tasks.task import Task
from transformer_jax.tasks.translation import TranslationSettings, translation


class TaskKind(NamedTuple):
    """A task that a config can name.

    Attributes:
      settings: frozen dataclass; it declares the fields of `config.task`.
      make: settings → task.
    """

    settings: type
    make: Callable[[Any], Task]


TASKS = {
    "translation": TaskKind(TranslationSettings, translation),
    "masked_language_model": TaskKind(
        MaskedLanguageModelSettings, masked_language_model
    ),
    "classification": TaskKind(ClassificationSettings, classification),
    "tagging": TaskKind(TaggingSettings, tagging),
}
