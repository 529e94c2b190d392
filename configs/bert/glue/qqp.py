"""QQP: do two questions ask the same? Paper: 71.2 % F1.

python -m transformer_jax train --config configs/bert/glue/qqp.py \
    --config.training.init_from=BERT --config.data.labelled.directory=GLUE/QQP \
    --workdir runs/qqp
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """BERT base on GLUE's own files: three passes, 32 rows of 128 pieces a step."""
    config = default.get_bert_config(
        "classification",
        "base",
        num_steps=34_100,
        warmup_steps=3_410,
        peak_learning_rate=2e-5,
    )
    config.task.update(labels="0,1", num_sentences=2, score="f1")
    config.data.update(source="labelled", vocab_size=30_522, tokens_per_batch=32 * 128)
    config.data.labelled.update(
        train="train.tsv",
        validation="dev.tsv",
        text_columns="question1,question2",
        label_column="is_duplicate",
    )
    config.data.tfds_labels.update(name="glue/qqp", text_columns="question1,question2")
    return config
