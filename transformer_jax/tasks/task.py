"""The parts of a task, as training asks for them: a dataclass of functions."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jax.sharding import NamedSharding

from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.documents import DocumentNumbers
from transformer_jax.data.labels import Labels
from transformer_jax.data.marked_words import MarkedWords
from transformer_jax.data.token_cache import Coder, TokenCache
from transformer_jax.data.tokenizer import SpecialIds
from transformer_jax.data.tokenizer_file import AnyTokenizer
from transformer_jax.decoding.translator_settings import TranslatorSettings
from transformer_jax.training.step import LossFn

# Parameters → numbers, on the validation split.
Validate = Callable[[Any], Mapping[str, float]]


@dataclasses.dataclass(frozen=True)
class ValidationParts:
    """What a task may look at to score parameters on the validation split.

    Attributes:
      model: the module.
      tokenizers: one for each sentence of a text.
      lines: the split's text, a list of sentences for each side.
      languages: a code for each side.
      mean_metrics: parameters → what the objective sums, as means over the split.
      search: how to search, for a task that generates text.
      placement: how rows are split over the devices that all hold the parameters.
    """

    model: Any
    tokenizers: tuple[AnyTokenizer, ...]
    lines: tuple[Sequence[str], ...]
    languages: tuple[str, ...]
    mean_metrics: Validate
    search: TranslatorSettings
    placement: NamedSharding


@dataclasses.dataclass(frozen=True)
class Task:
    """What a model is trained for.

    Attributes:
      sides: what the sentences of a text are called: two of a pair, or one alone; where
        there are labels or documents, the last is theirs.
      inputs: what the model is called with, to make its parameters from: those of the
        models that can learn it.
      plan_lengths: [sides, texts] tokens of each sentence → the two lengths [texts] by
        which texts share a batch; those of a side that is not there are 0.
      make_batch: (cache, planned batch, special ids) → a batch: a pytree of numpy
        arrays [rows, ...] with the rows of the plan.
      make_objective: (model, label_smoothing=, label_smoothing_formula=) → what is
        minimised. Of the sums that it names, "loss" must be there; "nll", in nats, has
        its perplexity reported beside it; counts that end in "tokens" are reported a
        second too, and "source_tokens" and "target_tokens" are what costs are counted
        from. "skipped" and "gradient_norm" are the step's own names.
      check_languages: refuses a code for each side that the task has no use for; needs
        no text.
      make_validation: parts → what scores parameters; what cannot be scored is refused
        here, before the first step.
      score_name: among what validation finds, the number that is best when highest.
      can_translate: whether a run can be given lines, to write one for each.
      control_pieces: what a vocabulary that is trained for it has beside text.
      labels: the names that texts are labelled with; None: texts have none.
      has_documents: whether each sentence comes with the number of its document.
      marks_words: whether the ids of a text say where words begin (`MarkedWords`).
      row_length: pieces of a row at most, whatever a text has; None: as long as it is.
    """

    sides: tuple[str, ...]
    inputs: Mapping[str, Any]
    plan_lengths: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    make_batch: Callable[[TokenCache, PlannedBatch, SpecialIds], Any]
    make_objective: Callable[..., LossFn]
    check_languages: Callable[[Sequence[str]], None]
    make_validation: Callable[[ValidationParts], Validate]
    score_name: str
    can_translate: bool
    control_pieces: tuple[str, ...] = ()
    labels: Labels | None = None
    has_documents: bool = False
    marks_words: bool = False
    row_length: int | None = None

    @property
    def num_sentences(self) -> int:
        """Of a text: its sides but for labels and documents."""
        return len(self.sides) - (self.labels is not None) - self.has_documents

    def coders(self, tokenizer: AnyTokenizer) -> tuple[Coder, ...]:
        """Return what makes numbers of each side."""
        of_text = MarkedWords(tokenizer) if self.marks_words else tokenizer
        coders: list[Coder] = [of_text] * self.num_sentences
        if self.labels is not None:
            coders.append(self.labels)
        if self.has_documents:
            coders.append(DocumentNumbers())
        return tuple(coders)
