"""Multi30k English-German with a recurrent model and attention (Bahdanau et al. 2015).

python -m transformer_jax train --config configs/multi30k_recurrent_attention.py \
    --config.data.directory=DIR --workdir runs/multi30k_recurrent_attention

Text, vocabulary, batches and search are those of multi30k_tiny.py.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """GRUs of 256, a vocabulary tied as the Transformer's, 4000 steps."""
    config = default.get_config(model="recurrent_attention")
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
    config.model.update(d_model=256, d_state=256, d_attention=256, dropout_rate=0.3)
    config.optimizer.update(
        schedule="cosine",
        warmup_steps=500,
        peak_learning_rate=2e-3,
        num_steps=4_000,
        clip_norm=1.0,
    )
    config.training.update(num_steps=4_000, log_every_steps=50)
    config.evaluation.update(eval_every_steps=400, beam_size=1)
    config.checkpoints.update(
        save_every_steps=200, save_every_minutes=0.0, keep_params=10
    )
    config.decoding.update(beam_size=5, alpha=1.0, length_penalty="length")
    return config
