"""Table 3, row (B): keys of depth 32. Paper: 25.4 BLEU, 5.01 perplexity.

python -m transformer_jax train --config=configs/table3/b_d_k_32.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with narrower queries and keys; values keep 64."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(d_k=32, dtype="bfloat16", vocab_multiple=128)
    return config
