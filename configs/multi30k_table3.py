"""Multi30k English-German at a size that two cores train in minutes: Table 3 in small.

python -m benchmarks.table3_multi30k --data DIR --output runs/table3_multi30k

trains this base and its variations; DIR is as for configs/multi30k_tiny.py.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Two narrow post-norm layers on each side, scored with the paper's beam."""
    config = default.get_config()
    config.data.update(
        train_source="train.en",
        train_target="train.de",
        validation_source="val.en",
        validation_target="val.de",
        vocab_size=2_000,
        tokens_per_batch=2_048,
        max_batch_shapes=6,
    )
    config.model.update(
        num_encoder_layers=2,
        num_decoder_layers=2,
        d_model=64,
        d_ff=128,
        num_heads=4,
    )
    # The paper's schedule ends high and belongs to larger batches. A peak of 4e-3 is
    # too high for four post-norm layers.
    config.optimizer.update(
        schedule="cosine",
        warmup_steps=500,
        peak_learning_rate=2e-3,
        num_steps=3_000,
    )
    config.training.num_steps = 3_000
    config.evaluation.eval_every_steps = 3_000
    config.checkpoints.update(
        save_every_steps=1_000, save_every_minutes=0.0, keep_params=1
    )
    return config
