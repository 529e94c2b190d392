"""Table 3, row (D): no label smoothing. Paper: 25.3 BLEU, 4.67 perplexity.

python -m transformer_jax train --config=configs/table3/d_smoothing_0_0.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """Base model with unsmoothed targets."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(dtype="bfloat16", vocab_multiple=128)
    config.training.label_smoothing = 0.0
    return config
