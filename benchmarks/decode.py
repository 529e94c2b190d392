"""Time beam search: steps of 128 sentences with 4 hypotheses each.

python -m benchmarks.decode [--base]

Random weights of multi30k_tiny (or of the base model) with 8000 pieces, 24 tokens for
each sentence. Prints seconds a step, the median over the turns, and the spread.
"""

import argparse
import statistics
import time

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np

from configs import multi30k_tiny
from configs.table3 import base
from transformer_jax.decoding.beam_search import beam_search
from transformer_jax.decoding.search import SearchSettings
from transformer_jax.models.parameters import init_params
from transformer_jax.runs import components

VOCAB_SIZE, SENTENCES, BEAM_SIZE, SOURCE_LENGTH, STEPS = 8_000, 128, 4, 16, 24


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--base", action="store_true")
    options = parser.parse_args()
    config = (base if options.base else multi30k_tiny).get_config()
    config.model.dtype = "float32"
    seconds = measure(config, options.turns)
    print(
        f"{statistics.median(seconds) * 1e3:.1f} ms a step of "
        f"{SENTENCES * BEAM_SIZE} hypotheses, "
        f"{min(seconds) * 1e3:.1f} to {max(seconds) * 1e3:.1f}"
    )


def measure(config: ml_collections.ConfigDict, num_turns: int) -> list[float]:
    """Return seconds a step, once for each turn."""
    model = components.build_model(config, VOCAB_SIZE, VOCAB_SIZE)
    variables = {"params": init_params(model, jax.random.key(0))}
    rng = np.random.default_rng(0)
    shape = (SENTENCES, SOURCE_LENGTH)
    tokens = jnp.asarray(rng.integers(4, VOCAB_SIZE, shape), jnp.int32)
    segments = jnp.ones(shape, jnp.int32)
    settings = SearchSettings(
        eos_id=3,
        bos_id=2,
        pad_id=0,
        vocab_size=VOCAB_SIZE,
        beam_size=BEAM_SIZE,
        num_best=1,
        alpha=0.6,
        length_penalty="gnmt",
        block_size=32,
    )
    memory = model.apply(
        variables, tokens, source_segments=segments, method=model.encode
    )
    cache = model.apply(
        variables,
        memory,
        source_segments=segments,
        num_hypotheses=BEAM_SIZE,
        max_length=settings.block_size,
        method=model.init_cache,
    )
    step_fn = jax.tree_util.Partial(
        lambda variables, tokens, cache: model.apply(
            variables, tokens, cache, method=model.decode_step
        ),
        variables,
    )
    limits = np.full(SENTENCES, STEPS, np.int32)
    seconds = []
    for _ in range(num_turns + 1):  # The first compiles.
        start = time.perf_counter()
        beam_search(step_fn, cache, limits, settings, model.grow_cache)
        seconds.append((time.perf_counter() - start) / STEPS)
    return seconds[1:]


if __name__ == "__main__":
    main()
