"""The tokenizer of a run, joint for both languages: taken over, trained or opened."""

import logging
import pathlib
import shutil

import ml_collections

from transformer_jax.data.text_source import TextSource
from transformer_jax.data.tokenizer import (
    NUM_BYTES_AND_SPECIALS,
    Tokenizer,
    sample_sentences,
    train_tokenizer,
)
from transformer_jax.data.tokenizer_file import AnyTokenizer, read_tokenizer
from transformer_jax.errors import UserError
from transformer_jax.exchange.hugging_face_bert import VOCABULARY, is_directory
from transformer_jax.files import as_path, write_atomically
from transformer_jax.runs.components import build_task
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.rim import naming

_LOGGER = logging.getLogger(__name__)


def open_tokenizer(directory: RunDirectory) -> AnyTokenizer:
    """Return the tokenizer that a run was trained with.

    Raises:
      UserError: if it is missing or another.
    """
    directory.manifest.check(directory.tokenizer_path)
    tokenizer = read_tokenizer(directory.tokenizer_path)
    directory.check_tokenizer(tokenizer.fingerprint)
    return tokenizer


def given_tokenizer(config: ml_collections.ConfigDict) -> pathlib.Path | None:
    """Return the tokenizer that a new run takes over; None if it trains its own.

    Raises:
      UserError: if the run to start from is none.
    """
    if config.training.init_from is not None:
        with naming("config.training.init_from"):
            if is_directory(config.training.init_from):
                return as_path(config.training.init_from) / VOCABULARY
            start = RunDirectory(config.training.init_from)
            start.read_config()
            return start.tokenizer_path
    given = config.data.tokenizer_path
    return as_path(given) if given else None


def find_vocab_size(config: ml_collections.ConfigDict, directory: RunDirectory) -> int:
    """Return the size of the vocabulary that a run has, takes over or will train.

    Needs no text, and says what a tokenizer that is taken over leaves without a say.

    Raises:
      UserError: names the field of a tokenizer that cannot be taken over or trained.
    """
    # What a run began with may be gone once it has its own.
    if directory.is_begun and directory.tokenizer_path.exists():
        directory.manifest.check(directory.tokenizer_path)
        return read_tokenizer(directory.tokenizer_path).vocab_size
    data, start = config.data, config.training.init_from
    given = given_tokenizer(config)
    if given is None:
        if data.vocab_size <= NUM_BYTES_AND_SPECIALS:
            raise UserError(
                f"config.data.vocab_size={data.vocab_size} leaves no room for text: "
                f"{NUM_BYTES_AND_SPECIALS} tokens are bytes and special ones. Use more."
            )
        return data.vocab_size
    field = "config.data.tokenizer_path"
    with naming(field if start is None else "config.training.init_from"):
        tokenizer = read_tokenizer(given)
    if start is not None and data.tokenizer_path:
        with naming(field):
            other = read_tokenizer(data.tokenizer_path)
        if other.fingerprint != tokenizer.fingerprint:
            raise UserError(
                f"{field}={data.tokenizer_path} is another tokenizer than that of "
                f"config.training.init_from={start}, which its weights need. Leave "
                f"{field} out."
            )
    _LOGGER.info(
        "The tokenizer is %s, of %d pieces; config.data.vocab_size=%d, normalizer=%s "
        "and tokenizer_sentences are for training one, and have no say.",
        tokenizer.path,
        tokenizer.vocab_size,
        data.vocab_size,
        data.normalizer,
    )
    return tokenizer.vocab_size


def prepare_tokenizer(
    config: ml_collections.ConfigDict, directory: RunDirectory, train: TextSource
) -> AnyTokenizer:
    """Return the run's tokenizer, after taking one over or training one.

    Args:
      config: says which.
      directory: the run; one that it has already stays.
      train: the training split, to train on.

    Raises:
      UserError: if the given one is none, or the text is too small for the vocabulary.
    """
    data, path = config.data, directory.tokenizer_path
    if path.exists():
        directory.manifest.check(path)
        return read_tokenizer(path)
    if given := given_tokenizer(config):
        # Refuses what is no tokenizer before it becomes the run's.
        tokenizer = read_tokenizer(given)
        if isinstance(tokenizer, Tokenizer) and not tokenizer.has_byte_fallback:
            _LOGGER.warning(
                "The tokenizer %s has no byte fallback: characters outside its "
                "vocabulary will be lost. Train it with --byte_fallback.",
                given,
            )
        with write_atomically(path) as file, open(given, "rb") as existing:
            shutil.copyfileobj(existing, file)
    else:
        _LOGGER.info("Training the tokenizer (%d pieces)", data.vocab_size)
        task = build_task(config)
        with naming("config.data"):
            train_tokenizer(
                sample_sentences(
                    train, data.tokenizer_sentences, config.seed, task.num_sentences
                ),
                path,
                vocab_size=data.vocab_size,
                normalizer=data.normalizer,
                control_pieces=task.control_pieces,
            )
    directory.manifest.record([path])
    return read_tokenizer(path)
