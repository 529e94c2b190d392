"""Multi30k English-German with self-attention to nine pieces (the paper's Section 4).

python -m transformer_jax train --config configs/multi30k_restricted.py \
    --config.data.directory=DIR --workdir runs/multi30k_restricted

Like multi30k_tiny.py, but for the window; attention to the source stays whole.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Transformer-Tiny, pre-norm: four neighbours to either side in each layer."""
    config = default.get_config("restricted_transformer")
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
        dropout_rate=0.2,
        norm_position="pre",
        window=9,
    )
    config.optimizer.update(
        schedule="cosine",
        warmup_steps=500,
        peak_learning_rate=4e-3,
        num_steps=4_000,
    )
    config.training.update(num_steps=4_000, log_every_steps=50)
    config.evaluation.update(eval_every_steps=400, beam_size=1)
    config.checkpoints.update(
        save_every_steps=200, save_every_minutes=0.0, keep_params=10
    )
    config.decoding.update(beam_size=5, alpha=1.0, length_penalty="length")
    return config
