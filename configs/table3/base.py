"""Table 3, base model. Paper: 25.8 BLEU, 4.92 perplexity.

python -m transformer_jax train --config=configs/table3/base.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """What the other rows vary, scored on newstest2013."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(dtype="bfloat16", vocab_multiple=128)
    return config
