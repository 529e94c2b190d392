"""From a config's text to what training reads: token ids, and a plan of batches."""

import dataclasses
import functools
import logging
import pathlib
from collections.abc import Sequence
from typing import Any

import ml_collections
import numpy as np

from transformer_jax.data.batch_plan import BatchPlan
from transformer_jax.data.batch_shapes import choose_shapes
from transformer_jax.data.bucketed_plan import plan_buckets
from transformer_jax.data.packed_plan import plan_packed
from transformer_jax.data.text_source import TextSource
from transformer_jax.data.token_cache import (
    Coder,
    TokenCache,
    build_token_cache,
    cache_key,
)
from transformer_jax.data.tokenizer import SpecialIds
from transformer_jax.data.tokenizer_file import AnyTokenizer
from transformer_jax.files import as_path
from transformer_jax.runs.components import build_task
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.joint_tokenizer import prepare_tokenizer
from transformer_jax.runs.repetition_record import keep_repetitions
from transformer_jax.runs.rim import naming
from transformer_jax.runs.text import keep_text, open_text
from transformer_jax.tasks.task import Task

_LOGGER = logging.getLogger(__name__)
_UNLIMITED = 1 << 31


@dataclasses.dataclass(frozen=True)
class Corpus:
    """What training reads.

    Attributes:
      tokenizer: of every sentence, as the vocabulary is joint.
      train: the training split as ids.
      validation: likewise, for the validation loss.
      plan: which training texts share a batch.
    """

    tokenizer: AnyTokenizer
    train: TokenCache
    validation: TokenCache
    plan: BatchPlan

    @property
    def specials(self) -> SpecialIds:
        """The ids that batches need."""
        return self.tokenizer.specials


def prepare_corpus(
    config: ml_collections.ConfigDict, directory: RunDirectory
) -> Corpus:
    """Train the tokenizer, tokenise the text and plan the batches, where not yet done.

    Raises:
      UserError: if the text cannot be used, or is not what the run was begun with.
    """
    task = build_task(config)
    tokens = tokens_directory(config, directory)
    sources = open_text(config, task, tokens / "lines")
    tokenizer = prepare_tokenizer(config, directory, sources["train"])
    coders = task.coders(tokenizer)
    fingerprints = {split: source.fingerprint() for split, source in sources.items()}
    directory.check_data(fingerprints | {"tokenizer": tokenizer.fingerprint})
    keep_text(directory, sources, task.sides)
    tokenise = functools.partial(_tokenise, config.data, task, coders, tokens)
    train = tokenise("train", sources["train"])
    splits = [split for split in sources if split != "train"]
    sentences = slice(task.num_sentences)
    keep_repetitions(directory, train, splits, task.sides[sentences], coders[sentences])
    plan = plan_training(config, *task.plan_lengths(train.lengths))
    _LOGGER.info("%s", plan.describe())
    validation = tokenise("validation", sources["validation"])
    return Corpus(tokenizer, train, validation, plan)


def tokens_directory(
    config: ml_collections.ConfigDict, directory: RunDirectory
) -> pathlib.Path:
    """Return where the tokens of a run are kept."""
    return as_path(config.data.cache_directory or directory.tokens)


def _tokenise(
    data: ml_collections.ConfigDict,
    task: Task,
    coders: Sequence[Coder],
    directory: pathlib.Path,
    split: str,
    source: TextSource,
) -> TokenCache:
    """Return a split as ids, which lie in a folder of `directory`."""
    # Validation's loss leaves out what is too long, and nothing else; scores are over
    # every line. A label is no translation, however short it is.
    has_ratio = split == "train" and len(task.sides) == task.num_sentences
    # A sentence that is missing would make neighbours of those beside it.
    max_length = _UNLIMITED if task.has_documents else int(data.max_length)
    settings: dict[str, Any] = {
        "max_length": max_length,
        "max_length_ratio": data.max_length_ratio if has_ratio else 0.0,
    }
    key = cache_key(source, coders, **settings)
    with naming("config.data"):
        return build_token_cache(
            source,
            coders,
            directory / f"{split}-{key}",
            num_threads=data.num_threads,
            **settings,
        )


def plan_training(
    config: ml_collections.ConfigDict,
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
) -> BatchPlan:
    """Plan the batches of the training split (Section 5.1)."""
    data, lengths = config.data, (source_lengths, target_lengths)
    if data.batching == "packed":
        return plan_packed(
            *lengths,
            tokens_per_batch=data.tokens_per_batch,
            packed_length=data.packed_length,
            row_multiple=data.row_multiple,
            seed=config.seed,
        )
    shapes = choose_shapes(
        *lengths,
        tokens_per_batch=data.tokens_per_batch,
        max_batch_shapes=data.max_batch_shapes,
        row_multiple=data.row_multiple,
    )
    return plan_buckets(*lengths, shapes, seed=config.seed)
