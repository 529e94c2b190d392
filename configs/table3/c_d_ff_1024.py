"""Table 3, row (C): inner width 1024. Paper: 25.4 BLEU, 5.12 perplexity.

python -m transformer_jax train --config=configs/table3/c_d_ff_1024.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with half the feed-forward width."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(d_ff=1024, dtype="bfloat16", vocab_multiple=128)
    return config
