"""Runs of several systems on one text, for the studies that compare translations."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import ml_collections

from transformer_jax.config import default
from transformer_jax.runs.trained_run import TrainedRun
from transformer_jax.studies.bench import Bench


@dataclasses.dataclass(frozen=True)
class TranslationRuns:
    """Which runs: those of configs/ on Multi30k, or tiny ones made on the way.

    Attributes:
      configs: from a system to its file in configs/; its runs have the file's name, and
        _SEED behind it where the seed is not 0.
      seeds: of each.
      num_steps: 0, or on how many steps to train a tiny model of each system on the
        built-in corpus instead.
    """

    configs: Mapping[str, str]
    seeds: tuple[int, ...] = (0,)
    num_steps: int = 0


MULTI30K_CONFIGS: Mapping[str, str] = {
    "transformer": "multi30k_tiny",
    "recurrent": "multi30k_recurrent",
    "recurrent_attention": "multi30k_recurrent_attention",
    "convolutional": "multi30k_convolutional",
}
# Sizes of the tiny models that tests train.
_TINY: Mapping[str, Mapping[str, Any]] = {
    "transformer": {"num_encoder_layers": 1, "num_decoder_layers": 1, "d_ff": 32}
    | {"d_model": 16, "num_heads": 2},
    "recurrent": {"num_layers": 1, "d_model": 16, "d_state": 16},
}
TINY_CONFIGS: Mapping[str, str] = {name: "tiny" for name in _TINY}


def open_runs(
    runs: TranslationRuns, bench: Bench
) -> Iterator[tuple[str, int, TrainedRun]]:
    """Yield each system's name, each seed and its run.

    Raises:
      UserError: if one is not there yet; says how it is trained.
    """
    for system, config in runs.configs.items():
        for seed in runs.seeds:
            if runs.num_steps:
                tiny = _tiny_config(system, seed, runs.num_steps)
                yield system, seed, bench.train(f"{config}_{system}_{seed}", tiny)
                continue
            name = config if seed == 0 else f"{config}_{seed}"
            command = (
                f"train --config configs/{config}.py --config.data.directory=DIR "
                f"--config.seed={seed}"
            )
            yield system, seed, bench.open(name, command)


def _tiny_config(system: str, seed: int, num_steps: int) -> ml_collections.ConfigDict:
    config = default.get_config(model=system)
    config.seed = seed
    config.data.update(
        source="grammar",
        vocab_size=600,
        tokens_per_batch=512,
        max_length=32,
        max_batch_shapes=1,
    )
    config.data.grammar.update(
        num_train_pairs=100, num_validation_pairs=8, num_test_pairs=12
    )
    config.model.update(**_TINY[system])
    config.optimizer.update(
        schedule="constant", warmup_steps=2, peak_learning_rate=1e-2
    )
    config.training.update(num_steps=num_steps, log_every_steps=1)
    config.evaluation.update(eval_every_steps=num_steps, beam_size=1)
    config.checkpoints.update(save_every_steps=0, save_every_minutes=0.0)
    config.decoding.update(beam_size=2, max_extra_length=3)
    return config
