"""QNLI: does a sentence answer a question? Paper: 90.5 % accuracy.

python -m transformer_jax train --config configs/bert/glue/qnli.py \
    --config.training.init_from=BERT --config.data.labelled.directory=GLUE/QNLI \
    --workdir runs/qnli
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """BERT base on GLUE's own files: three passes, 32 rows of 128 pieces a step."""
    config = default.get_bert_config(
        "classification",
        "base",
        num_steps=10_200,
        warmup_steps=1_020,
        peak_learning_rate=2e-5,
    )
    config.task.update(labels="entailment,not_entailment", num_sentences=2)
    config.data.update(source="labelled", vocab_size=30_522, tokens_per_batch=32 * 128)
    config.data.labelled.update(
        train="train.tsv", validation="dev.tsv", text_columns="question,sentence"
    )
    config.data.tfds_labels.update(name="glue/qnli", text_columns="question,sentence")
    return config
