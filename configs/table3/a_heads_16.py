"""Table 3, row (A): sixteen heads. Paper: 25.8 BLEU, 4.91 perplexity.

python -m transformer_jax train --config=configs/table3/a_heads_16.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with twice the heads, each half as wide."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        num_heads=16,
        d_k=32,
        d_v=32,
        dtype="bfloat16",
        vocab_multiple=128,
    )
    return config
