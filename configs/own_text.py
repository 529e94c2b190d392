"""Your own text: the paper's base model, for a GPU.

python -m transformer_jax train --config configs/own_text.py \
    --config.data.directory=DIR --workdir RUN

DIR holds train, valid and test, each as .en and .de: one sentence a line; line n of
a target translates line n of its source. For other languages name them, as in
configs/own_text.py:fr-en. Sizes suit some hundred thousand pairs; on a laptop, or for
less text, begin with own_text_tiny.py, and for millions start from the default.
"""

import ml_collections

from transformer_jax.config import default


def get_config(languages: str = "en-de") -> ml_collections.ConfigDict:
    """The paper's base model on files, with a vocabulary for a smaller corpus.

    Args:
      languages: codes of the source's and the target's, with a hyphen between.
    """
    config = default.get_config()
    config.data.update(
        **default.files_by_language(languages),
        vocab_size=16_000,
        tokens_per_batch=8_000,
    )
    # As many tokens of warm-up as the paper's, 100 million; the peak of its schedule
    # falls with the root of the batch.
    config.optimizer.warmup_steps = 12_500
    config.training.num_steps = 50_000
    return config
