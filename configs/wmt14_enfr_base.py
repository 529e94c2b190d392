"""WMT14 English-French, base model. Paper: 38.1 (Table 2).

python -m transformer_jax train --config=configs/wmt14_enfr_base.py --workdir=RUN
python -m transformer_jax evaluate --workdir=RUN --average 5
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """The paper's base model on 36 million pairs."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.target_language = "fr"
    # Section 5.1 has word pieces (Wu et al. 2016), whose trainer was never published:
    # sentencepiece's BPE takes their place, on both languages together as for German.
    config.data.vocab_size = 32_000
    config.data.tfds.name = "wmt14_translate/fr-en"
    config.model.update(dtype="bfloat16", vocab_multiple=128)
    return config
