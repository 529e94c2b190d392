"""Fine-tuning: BERT tiny with one added layer, for the classes of sentences.

python -m transformer_jax train --config configs/bert/finetune.py \
    --config.training.init_from=runs/pretrain_tiny \
    --config.data.labelled.directory=DIR --config.task.labels=no,yes \
    --workdir runs/finetuned

DIR holds train.tsv and validation.tsv, whose first line names the columns `sentence`
and `label`. Without init_from it trains from scratch.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """The sizes of pretrain_tiny.py, a lower learning rate and few steps."""
    config = default.get_bert_config(
        "classification",
        "tiny",
        num_steps=500,
        warmup_steps=50,
        peak_learning_rate=3e-4,
    )
    config.data.update(source="labelled", vocab_size=2_000, tokens_per_batch=2_048)
    config.data.labelled.update(train="train.tsv", validation="validation.tsv")
    config.model.max_positions = 128
    config.training.log_every_steps = 50
    config.evaluation.eval_every_steps = 100
    config.checkpoints.update(
        save_every_steps=100, save_every_minutes=0.0, keep_params=1
    )
    return config
