"""Table 3, row (C): two layers in each stack. Paper: 23.7 BLEU, 6.11 perplexity.

python -m transformer_jax train --config=configs/table3/c_layers_2.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with two encoder and two decoder layers."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        num_encoder_layers=2,
        num_decoder_layers=2,
        dtype="bfloat16",
        vocab_multiple=128,
    )
    return config
