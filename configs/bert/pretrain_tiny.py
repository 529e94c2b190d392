"""BERT tiny on the English side of the built-in corpus, small enough for a laptop.

python -m transformer_jax train --config configs/bert/pretrain_tiny.py \
    --workdir runs/pretrain_tiny
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Two layers of width 128; several sentences share a row, none sees another."""
    config = default.get_bert_config(
        "masked_language_model",
        "tiny",
        num_steps=3_000,
        warmup_steps=200,
        peak_learning_rate=1e-3,
    )
    config.data.update(
        source="grammar",
        vocab_size=2_000,
        tokenizer_sentences=20_000,
        batching="packed",
        tokens_per_batch=4_096,
        max_length=96,
    )
    config.model.max_positions = 128
    config.training.log_every_steps = 50
    config.evaluation.eval_every_steps = 500
    config.checkpoints.update(
        save_every_steps=500, save_every_minutes=0.0, keep_params=2
    )
    return config
