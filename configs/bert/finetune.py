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
    config = default.get_config(model="bert", task="classification")
    config.data.update(source="labelled", vocab_size=2_000, tokens_per_batch=2_048)
    config.data.labelled.update(train="train.tsv", validation="validation.tsv")
    config.model.update(default.bert_sizes("tiny"), max_positions=128)
    config.optimizer.update(
        schedule="linear",
        warmup_steps=50,
        num_steps=500,
        peak_learning_rate=3e-4,
        beta2=0.999,
        epsilon=1e-6,
        clip_norm=1.0,
        weight_decay=0.01,
    )
    config.training.update(num_steps=500, label_smoothing=0.0, log_every_steps=50)
    config.evaluation.eval_every_steps = 100
    config.checkpoints.update(
        save_every_steps=100, save_every_minutes=0.0, keep_params=1
    )
    return config
