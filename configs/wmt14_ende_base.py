"""WMT14 English-German, base model. Paper: 27.3 (Table 2).

python -m transformer_jax train --config=configs/wmt14_ende_base.py --workdir=RUN
python -m transformer_jax evaluate --workdir=RUN --average 5
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """The paper's base model, on the paper's text."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(dtype="bfloat16", vocab_multiple=128)
    return config
