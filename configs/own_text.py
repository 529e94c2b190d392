"""Your own text: six paths and two languages.

python train.py --config configs/own_text.py --config.data.directory=DIR --workdir RUN

One sentence a line, plain or .gz; line n of a target translates line n of its source.
Sizes suit some hundred thousand pairs and one GPU; for less text make the model smaller
and the dropout larger (see multi30k_tiny.py), for millions start from the default.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """The paper's base model on files, with a vocabulary for a smaller corpus."""
    config = default.get_config()
    config.data.update(
        source_language="en",
        target_language="de",
        directory=".",
        train_source="train.en",
        train_target="train.de",
        validation_source="valid.en",
        validation_target="valid.de",
        test_source="test.en",
        test_target="test.de",
        vocab_size=16_000,
        tokens_per_batch=8_000,
    )
    # As many tokens of warm-up as the paper's, 100 million; the peak of its schedule
    # falls with the root of the batch.
    config.optimizer.warmup_steps = 12_500
    config.training.num_steps = 50_000
    return config
