"""Table 3, row (A): a single head as wide as eight. Paper: 24.9 BLEU, 5.29 perplexity.

python -m transformer_jax train --config=configs/table3/a_heads_1.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with one head; d_k and d_v grow so that the cost stays the same."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        num_heads=1,
        d_k=512,
        d_v=512,
        dtype="bfloat16",
        vocab_multiple=128,
    )
    return config
