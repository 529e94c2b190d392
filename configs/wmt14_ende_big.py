"""WMT14 English-German, big model. Paper: 28.4 (Table 2).

python -m transformer_jax train --config=configs/wmt14_ende_big.py --workdir=RUN
python -m transformer_jax evaluate --workdir=RUN --average 20
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """The paper's big model, with dropout 0.3."""
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
    # The last 20 are averaged (Section 6.1).
    config.checkpoints.keep_params = 20
    return config
