"""BERT tiny on Multi30k's English side.

python -m transformer_jax train --config configs/bert/pretrain_multi30k.py \
    --config.data.directory=DIR --workdir runs/pretrain_multi30k

DIR holds train.en and val.en.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """The sizes of pretrain_tiny.py and a vocabulary of 4000 pieces."""
    config = default.get_bert_config(
        "masked_language_model",
        "tiny",
        num_steps=3_000,
        warmup_steps=200,
        peak_learning_rate=1e-3,
    )
    config.data.update(
        train_source="train.en",
        validation_source="val.en",
        vocab_size=4_000,
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
