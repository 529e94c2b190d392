"""Your own text, first try: a small model that a laptop trains within the hour.

python -m transformer_jax train --config configs/own_text_tiny.py \
    --config.data.directory=DIR --workdir RUN

DIR holds train, valid and test, each as .en and .de: one sentence a line; line n of
a target translates line n of its source. For other languages name them, as in
configs/own_text_tiny.py:fr-en, which reads train.fr, train.en and so on. Sizes suit ten
to two hundred thousand short pairs; own_text.py has a larger model, for a GPU.
"""

import ml_collections

from transformer_jax.config import default


def get_config(languages: str = "en-de") -> ml_collections.ConfigDict:
    """Three narrow pre-norm layers a side on files that are called by their languages.

    Args:
      languages: codes of the source's and the target's, with a hyphen between.
    """
    config = default.get_config()
    config.data.update(
        **default.files_by_language(languages),
        vocab_size=4_000,
        tokens_per_batch=4_096,
    )
    config.model.update(
        num_encoder_layers=3,
        num_decoder_layers=3,
        d_model=128,
        d_ff=512,
        num_heads=4,
        dropout_rate=0.2,
        norm_position="pre",
    )
    config.optimizer.update(
        schedule="cosine",
        warmup_steps=400,
        peak_learning_rate=4e-3,
        num_steps=3_000,
    )
    config.training.update(num_steps=3_000, log_every_steps=50)
    config.evaluation.update(eval_every_steps=300, beam_size=1)
    config.checkpoints.update(save_every_steps=300, keep_params=5)
    return config
