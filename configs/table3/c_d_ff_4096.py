"""Table 3, row (C): inner width 4096. Paper: 26.2 BLEU, 4.75 perplexity.

python -m transformer_jax train --config=configs/table3/c_d_ff_4096.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with twice the feed-forward width."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(d_ff=4096, dtype="bfloat16", vocab_multiple=128)
    return config
