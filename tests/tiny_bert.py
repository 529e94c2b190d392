"""The config of a BERT that learns in seconds."""

import ml_collections

from transformer_jax.config import default


def tiny_bert_config(
    task: str, num_steps: int, *, every: int, max_positions: int
) -> ml_collections.ConfigDict:
    """Return it for a task, on no text yet; validated and saved every so many steps."""
    config = default.get_config(model="bert", task=task)
    config.data.update(tokens_per_batch=256, max_batch_shapes=1)
    config.model.update(num_layers=1, d_model=16, d_ff=32, num_heads=2)
    config.model.update(max_positions=max_positions, init_stddev=0.2)
    config.model.update(dropout_rate=0.0, attention_dropout_rate=0.0)
    config.optimizer.update(
        schedule="constant", warmup_steps=1, peak_learning_rate=1e-2
    )
    config.training.update(num_steps=num_steps, label_smoothing=0.0)
    config.evaluation.eval_every_steps = every
    config.checkpoints.update(save_every_steps=every, save_every_minutes=0.0)
    return config
