"""MRPC: do two sentences mean the same? Paper: 88.9 % F1.

python -m transformer_jax train --config configs/bert/glue/mrpc.py \
    --config.training.init_from=BERT --config.data.labelled.directory=GLUE/MRPC \
    --workdir runs/mrpc
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """BERT base on GLUE's own files: three passes, 32 rows of 128 pieces a step."""
    config = default.get_bert_config(
        "classification",
        "base",
        num_steps=340,
        warmup_steps=34,
        peak_learning_rate=2e-5,
    )
    config.task.update(labels="0,1", num_sentences=2, score="f1")
    config.data.update(source="labelled", vocab_size=30_522, tokens_per_batch=32 * 128)
    config.data.labelled.update(
        train="train.tsv",
        validation="dev.tsv",
        text_columns="#1 String,#2 String",
        label_column="Quality",
    )
    config.data.tfds_labels.update(name="glue/mrpc", text_columns="sentence1,sentence2")
    return config
