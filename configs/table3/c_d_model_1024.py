"""Table 3, row (C): width 1024. Paper: 26.0 BLEU, 4.66 perplexity.

python -m transformer_jax train --config=configs/table3/c_d_model_1024.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model at twice the width; d_k and d_v follow, 128."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(d_model=1024, dtype="bfloat16", vocab_multiple=128)
    return config
