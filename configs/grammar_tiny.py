"""The built-in corpus, offline, minutes on a laptop; the first thing to run.

python -m transformer_jax train --config configs/grammar_tiny.py --workdir runs/grammar
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """A small pre-norm model that learns the grammar corpus in a few minutes."""
    config = default.get_config()
    config.data.update(
        source="grammar",
        vocab_size=3_500,
        tokenizer_sentences=20_000,
        tokens_per_batch=2_048,
        max_batch_shapes=5,
        max_length=96,
    )
    config.model.update(
        num_encoder_layers=2,
        num_decoder_layers=2,
        d_model=128,
        d_ff=256,
        num_heads=4,
        dropout_rate=0.0,
        norm_position="pre",
    )
    config.optimizer.update(
        schedule="cosine",
        warmup_steps=200,
        peak_learning_rate=4e-3,
        num_steps=1_200,
    )
    config.training.update(num_steps=1_200, log_every_steps=50)
    config.evaluation.update(eval_every_steps=300, beam_size=1)
    config.checkpoints.update(
        save_every_steps=300, save_every_minutes=0.0, keep_params=2
    )
    return config
