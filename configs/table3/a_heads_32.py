"""Table 3, row (A): thirty-two heads. Paper: 25.4 BLEU, 5.01 perplexity.

python -m transformer_jax train --config=configs/table3/a_heads_32.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with four times the heads, each a quarter as wide."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        num_heads=32,
        d_k=16,
        d_v=16,
        dtype="bfloat16",
        vocab_multiple=128,
    )
    return config
