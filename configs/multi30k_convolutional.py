"""Multi30k English-German with a convolutional model (Gehring et al. 2017).

python -m transformer_jax train --config configs/multi30k_convolutional.py \
    --config.data.directory=DIR --workdir runs/multi30k_convolutional

Text, vocabulary, batches and search are those of multi30k_tiny.py.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """4+4 blocks of width 256 with attention in each of the decoder's."""
    config = default.get_config(model="convolutional")
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
        d_model=256,
        num_channels=256,
        dropout_rate=0.2,
        max_positions=256,
    )
    config.optimizer.update(
        schedule="cosine",
        warmup_steps=500,
        peak_learning_rate=2e-3,
        clip_norm=1.0,
        num_steps=4_000,
    )
    config.training.update(num_steps=4_000, log_every_steps=50)
    config.evaluation.update(eval_every_steps=400, beam_size=1)
    config.checkpoints.update(
        save_every_steps=200, save_every_minutes=0.0, keep_params=10
    )
    config.decoding.update(beam_size=5, alpha=1.0, length_penalty="length")
    return config
