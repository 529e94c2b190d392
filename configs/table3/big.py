"""Table 3, big model. Paper: 26.4 BLEU, 4.33 perplexity.

python -m transformer_jax train --config=configs/table3/big.py --workdir=RUN
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """The big model of Table 2, without averaging."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        d_model=1024,
        d_ff=4096,
        num_heads=16,
        dropout_rate=0.3,
        dtype="bfloat16",
        vocab_multiple=128,
    )
    config.training.num_steps = 300_000
    return config
