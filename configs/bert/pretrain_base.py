"""BERT base on text of one's own (Devlin et al. 2018, Appendix A.2).

python -m transformer_jax train --config configs/bert/pretrain_base.py \
    --config.data.directory=DIR --workdir runs/pretrain_base

DIR holds train.txt and validation.txt, a sentence a line and a blank line between
documents.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """A million steps of 131 072 tokens, as the paper's 256 rows of 512."""
    config = default.get_bert_config(
        "masked_language_model",
        "base",
        num_steps=1_000_000,
        warmup_steps=10_000,
        peak_learning_rate=1e-4,
    )
    config.data.update(
        train_source="train.txt",
        validation_source="validation.txt",
        vocab_size=30_000,
        tokens_per_batch=256 * 512,
        max_length=510,
    )
    config.task.update(next_sentence=True, row_length=512)
    config.evaluation.eval_every_steps = 10_000
    config.checkpoints.update(save_every_steps=10_000, keep_params=5)
    return config
