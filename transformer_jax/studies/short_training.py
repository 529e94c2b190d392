"""How the small models of studies are trained: briefly, by a cosine."""

import ml_collections


def set_short_training(
    config: ml_collections.ConfigDict,
    *,
    seed: int,
    num_steps: int,
    warmup_steps: int,
    peak_learning_rate: float,
) -> None:
    """Set how long and how fast a config trains; it is validated and saved at the end.

    A study counts and draws for itself, so that no tracker hears of it.
    """
    config.seed = seed
    config.optimizer.update(
        schedule="cosine",
        warmup_steps=warmup_steps,
        peak_learning_rate=peak_learning_rate,
        num_steps=num_steps,
    )
    config.training.update(num_steps=num_steps, trackers="")
    config.evaluation.update(eval_every_steps=num_steps, beam_size=1)
    config.checkpoints.update(save_every_steps=0, save_every_minutes=2.0, keep_params=1)
