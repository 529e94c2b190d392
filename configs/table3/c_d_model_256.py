"""Table 3, row (C): width 256. Paper: 24.5 BLEU, 5.75 perplexity.

python -m transformer_jax train --config=configs/table3/c_d_model_256.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model at half the width; d_k and d_v follow, 32."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(d_model=256, dtype="bfloat16", vocab_multiple=128)
    return config
