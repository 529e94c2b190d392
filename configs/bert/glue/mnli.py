"""MNLI: does the second sentence follow from the first? Paper: 84.6 % accuracy.

python -m transformer_jax train --config configs/bert/glue/mnli.py \
    --config.training.init_from=BERT --config.data.labelled.directory=GLUE/MNLI \
    --workdir runs/mnli
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """BERT base on GLUE's own files: three passes, 32 rows of 128 pieces a step."""
    config = default.get_bert_config(
        "classification",
        "base",
        num_steps=36_800,
        warmup_steps=3_680,
        peak_learning_rate=2e-5,
    )
    config.task.update(labels="contradiction,entailment,neutral", num_sentences=2)
    config.data.update(source="labelled", vocab_size=30_522, tokens_per_batch=32 * 128)
    config.data.labelled.update(
        train="train.tsv",
        validation="dev_matched.tsv",
        text_columns="sentence1,sentence2",
        label_column="gold_label",
    )
    config.data.tfds_labels.update(
        name="glue/mnli",
        text_columns="premise,hypothesis",
        validation_split="validation_matched",
    )
    return config
