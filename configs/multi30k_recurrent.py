"""Multi30k English-German with a recurrent model (Sutskever et al. 2014).

python -m transformer_jax train --config configs/multi30k_recurrent.py \
    --config.data.directory=DIR --workdir runs/multi30k_recurrent

Text, vocabulary, batches and search are those of multi30k_tiny.py.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Two layers of LSTM on each side, as many parameters as with attention."""
    config = default.get_config(model="recurrent")
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
    config.model.update(num_layers=2, d_model=256, d_state=256)
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
