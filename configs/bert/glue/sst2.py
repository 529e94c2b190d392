"""SST-2: is a sentence about a film positive? Paper: 93.5 % accuracy.

python -m transformer_jax train --config configs/bert/glue/sst2.py \
    --config.training.init_from=BERT --config.data.labelled.directory=GLUE/SST-2 \
    --workdir runs/sst2
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """BERT base on GLUE's own files: three passes, 32 rows of 128 pieces a step."""
    config = default.get_bert_config(
        "classification",
        "base",
        num_steps=6_300,
        warmup_steps=630,
        peak_learning_rate=2e-5,
    )
    config.task.update(labels="0,1")
    config.data.update(source="labelled", vocab_size=30_522, tokens_per_batch=32 * 128)
    config.data.labelled.update(train="train.tsv", validation="dev.tsv")
    config.data.tfds_labels.update(name="glue/sst2")
    return config
