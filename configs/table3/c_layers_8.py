"""Table 3, row (C): eight layers in each stack. Paper: 25.5 BLEU, 4.88 perplexity.

python -m transformer_jax train --config=configs/table3/c_layers_8.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with eight encoder and eight decoder layers."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        num_encoder_layers=8,
        num_decoder_layers=8,
        dtype="bfloat16",
        vocab_multiple=128,
    )
    return config
