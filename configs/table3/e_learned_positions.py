"""Table 3, row (E): learned positions. Paper: 25.7 BLEU, 4.92 perplexity.

python -m transformer_jax train --config=configs/table3/e_learned_positions.py \
    --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with position tables in place of sinusoids."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(positions="learned", dtype="bfloat16", vocab_multiple=128)
    return config
