"""WMT14 English-French, big model. Paper: 41.8 (Table 2; its text has 41.0).

python -m transformer_jax train --config=configs/wmt14_enfr_big.py --workdir=RUN
python -m transformer_jax evaluate --workdir=RUN --average 20
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """The big model with dropout 0.1 in place of 0.3 (Section 6.1)."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.target_language = "fr"
    # Section 5.1 has word pieces (Wu et al. 2016), whose trainer was never published:
    # sentencepiece's BPE takes their place, on both languages together as for German.
    config.data.vocab_size = 32_000
    config.data.tfds.name = "wmt14_translate/fr-en"
    config.model.update(
        d_model=1024,
        d_ff=4096,
        num_heads=16,
        dtype="bfloat16",
        vocab_multiple=128,
    )
    config.training.num_steps = 300_000
    # The last 20 are averaged (Section 6.1).
    config.checkpoints.keep_params = 20
    return config
