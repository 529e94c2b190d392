"""Multi30k English-German like multi30k_tiny, two and a half times as long.

python train.py --config configs/multi30k_tiny_long.py --config.data.directory=DIR \
    --workdir runs/multi30k_long
"""

import ml_collections

from configs import multi30k_tiny


def get_config() -> ml_collections.ConfigDict:
    """Transformer-Tiny with more dropout, as a longer run needs.

    Built on multi30k_tiny, not on the default: the two are to be compared.
    """
    config = multi30k_tiny.get_config()
    config.model.dropout_rate = 0.25
    config.optimizer.num_steps = 10_000
    config.training.num_steps = 10_000
    config.evaluation.eval_every_steps = 500
    return config
