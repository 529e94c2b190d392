"""Table 3, row (D): no dropout. Paper: 24.6 BLEU, 5.77 perplexity.

python -m transformer_jax train --config=configs/table3/d_dropout_0_0.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model without dropout."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(dropout_rate=0.0, dtype="bfloat16", vocab_multiple=128)
    return config
