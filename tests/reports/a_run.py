"""A run as train.py and evaluate.py leave it, without any training."""

import json

from tests.tiny_run import tiny_config, write_text
from transformer_jax.config import default
from transformer_jax.data.lines import read_lines
from transformer_jax.data.tokenizer import train_tokenizer
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.hardware_record import record_hardware


def write_run(root, text, **data):
    """Write config, metrics, tokenizer and one evaluation into `root`."""
    config = tiny_config(write_text(text))
    config.data.update(data)
    directory = RunDirectory(root)
    directory.claim(config, ("source", "target"))
    directory.check_data({"train": "abc", "tokenizer": "def"})
    train_tokenizer(
        iter(read_lines(text / "train.en") + read_lines(text / "train.de")),
        directory.tokenizer_path,
        vocab_size=config.data.vocab_size,
        normalizer="identity",
    )
    rows = [
        {"step": 2, "validation/perplexity": 9, **_training_report(10.0)},
        {"step": 4, "validation/perplexity": 7, **_training_report(30.0)},
    ]
    record_hardware(
        directory, 0, {"device_kind": "TPU v4", "num_devices": 4, "num_hosts": 1}
    )
    directory.metrics_path.write_text(
        "".join(json.dumps(row) + "\n" for row in rows) + '{"step": 9'
    )
    for split in ("validation", "test"):
        directory.write_evaluation(f"{split}.step-4.beam4", evaluation(split), ["x"])
    return directory


def _training_report(speed):
    return {
        "train/loss": 2.5,
        "train/target_tokens_per_second": speed,
        "train/target_tokens": 600.0,
        "train/source_tokens": 500.0,
        "train/seconds": 600.0 / speed,
    }


def evaluation(split):
    """Return what evaluate.py writes down."""
    decoding = default.get_config().decoding
    return {
        "sacrebleu": 27.1,
        "sacrebleu_signature": "nrefs:1|case:mixed",
        "paper_bleu": 27.6,
        "paper_bleu_signature": "case:mixed|tok:moses-de|smooth:none|split:hyphens",
        "num_sentences": 3003,
        "test_set": "newstest2014 (full)",
        "produced_by": {
            "split": split,
            "checkpoint_steps": [4],
            "is_average": False,
            "beam_size": decoding.beam_size,
            "alpha": 1.0,
            "length_penalty": decoding.length_penalty,
            "max_extra_length": decoding.max_extra_length,
        },
    }
