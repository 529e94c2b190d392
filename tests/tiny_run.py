"""A run small enough for tests: made-up text, a model of some thousand weights."""

import pathlib

import ml_collections

from transformer_jax.config import default
from transformer_jax.data.sources.grammar import GrammarPairs
from transformer_jax.runs import experiment

SPLITS = {"train": 60, "validation": 8, "test": 7}


def write_text(directory: pathlib.Path) -> pathlib.Path:
    """Write three splits of aligned text files, and return the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for split, num_pairs in SPLITS.items():
        pairs = list(GrammarPairs(split, num_pairs, seed=5))
        for side, language in enumerate(("en", "de")):
            text = "".join(pair[side] + "\n" for pair in pairs)
            (directory / f"{split}.{language}").write_text(text, encoding="utf-8")
    return directory


def tiny_config(text: pathlib.Path, num_steps: int = 4) -> ml_collections.ConfigDict:
    """Return a config that trains on the files of `write_text` in seconds."""
    config = default.get_config()
    config.data.update(
        directory=str(text),
        train_source="train.en",
        train_target="train.de",
        validation_source="validation.en",
        validation_target="validation.de",
        test_source="test.en",
        test_target="test.de",
        vocab_size=330,
        tokens_per_batch=256,
        max_batch_shapes=1,
        max_length=64,
    )
    config.model.update(
        num_encoder_layers=1, num_decoder_layers=1, d_model=12, d_ff=20, num_heads=3
    )
    config.optimizer.update(warmup_steps=2, factor=0.1)
    config.training.update(num_steps=num_steps, log_every_steps=1)
    config.evaluation.update(eval_every_steps=2, beam_size=1)
    config.checkpoints.update(save_every_steps=2, save_every_minutes=0.0)
    config.sharding.data = 1
    config.decoding.update(beam_size=2, max_extra_length=3, tokens_per_batch=512)
    return config


def train_one_step(directory: pathlib.Path, text: str = "text") -> pathlib.Path:
    """Train for one step on text in a folder of that name; return the run beside it."""
    config = tiny_config(write_text(directory / text), num_steps=1)
    experiment.train(config, directory / "run")
    return directory / "run"
