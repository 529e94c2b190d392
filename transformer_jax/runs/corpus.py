"""From a config's text to a run's tokenizer, token ids and copies of the test text."""

import dataclasses
import logging
import pathlib
import shutil

import ml_collections

from transformer_jax.data import token_cache
from transformer_jax.data.batch_plan import BatchPlan
from transformer_jax.data.batch_shapes import choose_shapes
from transformer_jax.data.sources import SOURCES, PairSource
from transformer_jax.data.sources.tfds_directory import open_prepared
from transformer_jax.data.sources.tfds_pairs import split_expressions
from transformer_jax.data.token_cache import TokenCache, build_token_cache
from transformer_jax.data.tokenizer import Tokenizer, sample_sentences, train_tokenizer
from transformer_jax.errors import UserError
from transformer_jax.files import write_atomically
from transformer_jax.runs.directory import RunDirectory

_LOGGER = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Corpus:
    """What training reads.

    Attributes:
      source_tokenizer: of the source side.
      target_tokenizer: of the target side; the same object, as the vocabulary is joint.
      train: the training split as ids.
      validation: likewise, for the validation loss.
      plan: which training pairs share a batch.
    """

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    train: TokenCache
    validation: TokenCache
    plan: BatchPlan


def prepare_corpus(
    config: ml_collections.ConfigDict, directory: RunDirectory
) -> Corpus:
    """Train the tokenizer, tokenise the text and plan the batches, where not yet done.

    Raises:
      UserError: if the text cannot be used, or is not what the run was begun with.
    """
    data = config.data
    tokens = pathlib.Path(data.cache_directory or directory.tokens)
    sources = _open_sources(config, tokens / "lines")
    tokenizer = _prepare_tokenizer(config, directory, sources["train"])
    fingerprints = {split: source.fingerprint() for split, source in sources.items()}
    directory.check_data(fingerprints | {"tokenizer": tokenizer.fingerprint})
    for split, source in sources.items():
        if split != "train":
            directory.write_split(split, source.all_pairs())

    def tokenise(split: str) -> TokenCache:
        settings = {
            "max_length": data.max_length,
            # Only training text is filtered: a score is over every line.
            "max_length_ratio": data.max_length_ratio if split == "train" else 0.0,
        }
        key = token_cache.cache_key(sources[split], tokenizer, tokenizer, **settings)
        return build_token_cache(
            sources[split],
            tokenizer,
            tokenizer,
            tokens / f"{split}-{key}",
            num_workers=data.num_workers,
            **settings,
        )

    train = tokenise("train")
    lengths = train.source_lengths, train.target_lengths
    shapes = choose_shapes(
        *lengths,
        tokens_per_batch=data.tokens_per_batch,
        max_shapes=data.max_batch_shapes,
        row_multiple=data.row_multiple,
    )
    plan = BatchPlan(*lengths, shapes, seed=config.seed)
    _LOGGER.info("%s", plan.describe())
    return Corpus(tokenizer, tokenizer, train, tokenise("validation"), plan)


def open_tokenizer(directory: RunDirectory) -> Tokenizer:
    """Return the tokenizer that a run was trained with, joint for both languages.

    Raises:
      UserError: if it is missing or another.
    """
    tokenizer = Tokenizer(directory.tokenizer_path)
    directory.check_tokenizer(tokenizer.fingerprint)
    return tokenizer


def _open_sources(
    config: ml_collections.ConfigDict, index_directory: pathlib.Path
) -> dict[str, PairSource]:
    """Open each split that the config names."""
    data = config.data
    if data.source not in SOURCES:
        raise UserError(
            f"config.data.source={data.source!r} is not a source of text. Choose one "
            f"of {', '.join(SOURCES)}."
        )
    opener = SOURCES[data.source]
    if data.source == "grammar":
        sizes = {
            "train": data.grammar.num_train_pairs,
            "validation": data.grammar.num_validation_pairs,
            "test": data.grammar.num_test_pairs,
            "long": data.grammar.num_test_pairs,
        }
        return {
            split: opener(split=split, num_pairs=size, seed=config.seed)
            for split, size in sizes.items()
        }
    if data.source == "tfds":
        return _open_tfds(data)
    splits = ["train", "validation"] + ["test"] * bool(data.test_source)
    return {
        split: opener(
            source_paths=_paths(data, f"{split}_source"),
            target_paths=_paths(data, f"{split}_target") or None,
            index_directory=index_directory,
        )
        for split in splits
    }


def _open_tfds(data: ml_collections.ConfigDict) -> dict[str, PairSource]:
    """Open the splits of a prepared data set, and say which way they are read."""
    data_set = open_prepared(data.tfds.name, data.tfds.directory)
    sources = {
        split: SOURCES["tfds"](
            data_set=data_set,
            split=expression,
            source_language=data.source_language,
            target_language=data.target_language,
        )
        for split, expression in split_expressions(data_set.splits).items()
    }
    _LOGGER.info("%s", data_set.describe())
    _LOGGER.info(
        "Translating from %s into %s", data.source_language, data.target_language
    )
    return sources


def _paths(data: ml_collections.ConfigDict, field: str) -> list[pathlib.Path]:
    """Return the files that a field of comma-separated paths names."""
    directory = pathlib.Path(data.directory)
    paths = [
        directory / path.strip() for path in data[field].split(",") if path.strip()
    ]
    if not paths and field.endswith("_source"):
        raise UserError(
            f"config.data.{field} is empty. Name a text file, relative to "
            f"config.data.directory ({directory})."
        )
    return paths


def _prepare_tokenizer(
    config: ml_collections.ConfigDict, directory: RunDirectory, train: PairSource
) -> Tokenizer:
    """Open the run's tokenizer, after taking one over or training one."""
    data, path = config.data, directory.tokenizer_path
    given = data.tokenizer_path
    if config.training.init_from:
        given = RunDirectory(config.training.init_from).tokenizer_path
    if path.exists():
        pass
    elif given:
        # Refuses what is no tokenizer before it becomes the run's.
        if not Tokenizer(given).has_byte_fallback:
            _LOGGER.warning(
                "The tokenizer %s has no byte fallback: characters outside its "
                "vocabulary will be lost. Train it with --byte_fallback.",
                given,
            )
        with write_atomically(path) as file, open(given, "rb") as existing:
            shutil.copyfileobj(existing, file)
    else:
        _LOGGER.info("Training the tokenizer (%d pieces)", data.vocab_size)
        train_tokenizer(
            sample_sentences(train, data.tokenizer_sentences // 2, config.seed),
            path,
            vocab_size=data.vocab_size,
            normalizer=data.normalizer,
        )
    return Tokenizer(path)
