"""Table 3, row (D): dropout 0.2. Paper: 25.5 BLEU, 4.95 perplexity.

python -m transformer_jax train --config=configs/table3/d_dropout_0_2.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with twice the dropout."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(dropout_rate=0.2, dtype="bfloat16", vocab_multiple=128)
    return config
