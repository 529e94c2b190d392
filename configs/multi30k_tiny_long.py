"""Multi30k English-German like multi30k_tiny, two and a half times as long.

python -m transformer_jax train --config configs/multi30k_tiny_long.py \
    --config.data.directory=DIR --workdir runs/multi30k_long
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Transformer-Tiny with more dropout, as a longer run needs."""
    config = default.get_config()
    config.data.update(
        train_source="train.en",
        train_target="train.de",
        validation_source="val.en",
        validation_target="val.de",
        test_source="test_2016_flickr.en",
        test_target="test_2016_flickr.de",
        vocab_size=4_000,
        tokens_per_batch=4_096,
    )
    config.model.update(
        num_encoder_layers=4,
        num_decoder_layers=4,
        d_model=128,
        d_ff=256,
        num_heads=4,
        dropout_rate=0.25,
        norm_position="pre",
    )
    config.optimizer.update(
        schedule="cosine",
        warmup_steps=500,
        peak_learning_rate=4e-3,
        num_steps=10_000,
    )
    config.training.update(num_steps=10_000, log_every_steps=50)
    config.evaluation.update(eval_every_steps=500, beam_size=1)
    config.checkpoints.update(
        save_every_steps=200, save_every_minutes=0.0, keep_params=10
    )
    config.decoding.update(beam_size=5, alpha=1.0, length_penalty="length")
    return config
