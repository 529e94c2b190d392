"""Table 3, row (A): four heads. Paper: 25.5 BLEU, 5.00 perplexity.

python -m transformer_jax train --config=configs/table3/a_heads_4.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with half the heads, each twice as wide."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        num_heads=4,
        d_k=128,
        d_v=128,
        dtype="bfloat16",
        vocab_multiple=128,
    )
    return config
