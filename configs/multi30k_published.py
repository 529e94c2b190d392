"""Multi30k English-German as published for Transformer-Tiny (Wu et al. 2021).

python -m transformer_jax train --config configs/multi30k_published.py \
    --config.data.directory=DIR --workdir runs/multi30k_published
python -m transformer_jax evaluate --workdir runs/multi30k_published --average 10

DIR holds train, val and test_2016_flickr, each as .en and .de (Elliott et al. 2016).
Text is lower-cased and cut into 10 000 joint pieces. arXiv 2105.14462 reports 41.02
tokenised lower-cased BLEU for text alone; cased scores mean nothing here.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Transformer-Tiny, post-norm, 8000 steps of about 8000 tokens."""
    config = default.get_config()
    config.data.update(
        train_source="train.en",
        train_target="train.de",
        validation_source="val.en",
        validation_target="val.de",
        test_source="test_2016_flickr.en",
        test_target="test_2016_flickr.de",
        normalizer="lowercase",
        vocab_size=10_000,
        tokens_per_batch=8_192,
    )
    config.model.update(
        num_encoder_layers=4,
        num_decoder_layers=4,
        d_model=128,
        d_ff=256,
        num_heads=4,
        dropout_rate=0.3,
    )
    config.optimizer.update(
        schedule="inverse_sqrt", warmup_steps=2_000, peak_learning_rate=5e-3
    )
    config.training.update(num_steps=8_000, log_every_steps=50)
    config.evaluation.update(eval_every_steps=1_000, beam_size=1)
    config.checkpoints.update(
        save_every_steps=200, save_every_minutes=0.0, keep_params=10
    )
    config.decoding.update(beam_size=5, alpha=1.0, length_penalty="length")
    return config
