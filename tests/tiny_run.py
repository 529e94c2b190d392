"""A run small enough for tests: made-up text, a model of some thousand weights."""

import inspect
import pathlib

import ml_collections

from transformer_jax.config import default
from transformer_jax.data.sources.grammar import GrammarPairs
from transformer_jax.runs import experiment

SPLITS = {"train": 60, "validation": 8, "test": 7}
_TRANSFORMER = {"num_encoder_layers": 1, "num_decoder_layers": 1, "d_model": 12}
_TRANSFORMER |= {"d_ff": 20, "num_heads": 3}
# Of every system, sizes at which it takes seconds.
MODEL_SIZES = {
    "transformer": _TRANSFORMER,
    "restricted_transformer": _TRANSFORMER | {"window": 5},
    "recurrent": {"num_layers": 2, "d_model": 12, "d_state": 10},
    "recurrent_attention": {"d_model": 12, "d_state": 10, "d_attention": 7},
    "convolutional": {"num_encoder_layers": 1, "num_decoder_layers": 1, "d_model": 12}
    | {"num_channels": 10},
    "dilated": {"num_encoder_layers": 2, "num_decoder_layers": 2, "d_model": 12},
}


def write_text(directory: pathlib.Path) -> pathlib.Path:
    """Write three splits of aligned text files, and return the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for split, num_pairs in SPLITS.items():
        pairs = list(GrammarPairs(split, num_pairs, seed=5))
        for side, language in enumerate(("en", "de")):
            text = "".join(pair[side] + "\n" for pair in pairs)
            (directory / f"{split}.{language}").write_text(text, encoding="utf-8")
    return directory


def tiny_config(
    text: pathlib.Path, num_steps: int = 4, model: str = "transformer"
) -> ml_collections.ConfigDict:
    """Return a config that trains on the files of `write_text` in seconds."""
    config = default.get_config(model=model)
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
    config.model.update(MODEL_SIZES[model])
    config.optimizer.update(warmup_steps=2, factor=0.1)
    config.training.update(num_steps=num_steps, log_every_steps=1)
    config.evaluation.update(eval_every_steps=2, beam_size=1)
    config.checkpoints.update(save_every_steps=2, save_every_minutes=0.0)
    config.sharding.data = 1
    config.decoding.update(beam_size=2, max_extra_length=3, tokens_per_batch=512)
    return config


def grammar_config() -> ml_collections.ConfigDict:
    """A run of seconds on a few sentences of the grammar."""
    config = default.get_config()
    config.data.update(
        source="grammar",
        vocab_size=400,
        tokens_per_batch=256,
        max_batch_shapes=1,
        max_length=64,
    )
    config.data.grammar.update(
        num_train_pairs=60, num_validation_pairs=8, num_test_pairs=7
    )
    config.model.update(
        num_encoder_layers=1, num_decoder_layers=1, d_model=12, d_ff=20, num_heads=3
    )
    config.optimizer.update(schedule="constant", warmup_steps=1)
    config.training.num_steps = 2
    config.evaluation.beam_size = 1
    config.decoding.max_extra_length = 3
    return config


def grammar_config_file() -> str:
    """Return the text of a config file that gives `grammar_config`, by itself."""
    function = inspect.getsource(grammar_config).replace("grammar_config", "get_config")
    return (
        "import ml_collections\n\nfrom transformer_jax.config import default\n\n\n"
        + function
    )


def train_one_step(directory: pathlib.Path, text: str = "text") -> pathlib.Path:
    """Train for one step on text in a folder of that name; return the run beside it."""
    config = tiny_config(write_text(directory / text), num_steps=1)
    experiment.train(config, directory / "run")
    return directory / "run"
