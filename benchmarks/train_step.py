"""Time the training step of multi30k_tiny, with and without huge pages.

python -m benchmarks.train_step

Runs itself in turns as a child, with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` and
without, so that a noisy machine is noisy for both. Prints processor and wall seconds
per step, the median over the turns.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time

import jax
import numpy as np

from configs import multi30k_tiny
from transformer_jax.data.batch import Batch
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.parameters import init_params
from transformer_jax.models.transformer import Transformer
from transformer_jax.runs import components
from transformer_jax.tasks.objective import translation_objective
from transformer_jax.training.state import create_state
from transformer_jax.training.step import train_step

HUGE_PAGES = "glibc.malloc.hugetlb=1"
ROWS, LENGTH = 256, 16


def main() -> None:
    """Compare, or as a child measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.steps)))
        return
    results: dict[str, list[tuple[float, float]]] = {"": [], HUGE_PAGES: []}
    for _ in range(options.turns):
        for tunables, turns in results.items():
            turns.append(_measure_in_child(tunables, options.steps))
    medians = {}
    for tunables, turns in results.items():
        cpu, wall = (statistics.median(values) for values in zip(*turns, strict=True))
        medians[tunables] = cpu
        print(f"{tunables or 'as it is':<24} {cpu:.3f} CPU s, {wall:.3f} s per step")
    print(f"huge pages save {1 - medians[HUGE_PAGES] / medians['']:.0%} of CPU time")


def measure(num_steps: int) -> tuple[float, float]:
    """Return CPU and wall seconds per step on a batch of 4096 + 4096 positions."""
    config = multi30k_tiny.get_config()
    fields = config.model.to_dict()
    del fields["name"], fields["dtype"]
    size = config.data.vocab_size
    model = Transformer(
        TransformerConfig(source_vocab_size=size, target_vocab_size=size, **fields)
    )
    optimizer = components.build_optimizer(config)
    step = jax.jit(
        functools.partial(
            train_step,
            loss_fn=translation_objective(model, label_smoothing=0.1),
            optimizer=optimizer,
            schedule=components.build_schedule(config, model),
        ),
        donate_argnums=0,
    )
    state = create_state(init_params(model, jax.random.key(0)), optimizer)
    tokens = np.random.default_rng(0).integers(4, size, (ROWS, LENGTH), np.int32)
    ones = np.ones_like(tokens)
    positions = np.broadcast_to(np.arange(LENGTH, dtype=np.int32), tokens.shape)
    batch = Batch(
        *(tokens, ones, positions),
        *(tokens, tokens, ones, positions, ones.astype(np.float32)),
    )
    rng = jax.random.key(1)
    state, _ = jax.block_until_ready(step(state, batch, rng))
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(num_steps):
        state, _ = jax.block_until_ready(step(state, batch, rng))
    return (
        (time.process_time() - cpu) / num_steps,
        (time.perf_counter() - wall) / num_steps,
    )


def _measure_in_child(tunables: str, num_steps: int) -> tuple[float, float]:
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.train_step",
            "--child",
            f"--steps={num_steps}",
        ],
        env=os.environ | {"GLIBC_TUNABLES": tunables},
        capture_output=True,
        text=True,
        check=True,
    )
    cpu, wall = json.loads(result.stdout)
    return cpu, wall


if __name__ == "__main__":
    main()
