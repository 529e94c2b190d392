"""Table 3, row (C): four layers in each stack. Paper: 25.3 BLEU, 5.19 perplexity.

python -m transformer_jax train --config=configs/table3/c_layers_4.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with four encoder and four decoder layers."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        num_encoder_layers=4,
        num_decoder_layers=4,
        dtype="bfloat16",
        vocab_multiple=128,
    )
    return config
