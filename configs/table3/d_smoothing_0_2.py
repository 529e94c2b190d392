"""Table 3, row (D): label smoothing 0.2. Paper: 25.7 BLEU, 5.47 perplexity.

python -m transformer_jax train --config=configs/table3/d_smoothing_0_2.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with twice the label smoothing."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(dtype="bfloat16", vocab_multiple=128)
    config.training.label_smoothing = 0.2
    return config
