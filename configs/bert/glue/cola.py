"""CoLA: is a sentence acceptable English? Paper: 52.1 % of Matthews's correlation.

python -m transformer_jax train --config configs/bert/glue/cola.py \
    --config.training.init_from=BERT --config.data.labelled.directory=GLUE/CoLA \
    --workdir runs/cola
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """BERT base on GLUE's own files: three passes, 32 rows of 128 pieces a step."""
    config = default.get_bert_config(
        "classification",
        "base",
        num_steps=800,
        warmup_steps=80,
        peak_learning_rate=2e-5,
    )
    config.task.update(labels="0,1", score="matthews")
    config.data.update(source="labelled", vocab_size=30_522, tokens_per_batch=32 * 128)
    config.data.labelled.update(
        train="train.tsv", validation="dev.tsv", text_columns="3", label_column="1"
    )
    config.data.tfds_labels.update(name="glue/cola")
    return config
