"""Time the smoothed cross-entropy and its gradient on 4096 x 10 000 logits.

python -m benchmarks.loss

Prints milliseconds, the median over the turns, and the spread.
"""

import statistics
import time

import jax
import jax.numpy as jnp

from transformer_jax.training.losses import smoothed_cross_entropy

SHAPE, VOCAB_SIZE, TURNS = (256, 16), 10_000, 15


def main() -> None:
    """Measure and print."""
    logits = jax.random.normal(jax.random.key(0), (*SHAPE, VOCAB_SIZE))
    truth, weights = jnp.zeros(SHAPE, jnp.int32), jnp.ones(SHAPE)

    @jax.jit
    @jax.grad
    def gradient(logits: jax.Array) -> jax.Array:
        loss_sum, _, _ = smoothed_cross_entropy(
            logits, truth, weights, label_smoothing=0.1, vocab_size=VOCAB_SIZE
        )
        return loss_sum

    milliseconds = []
    for _ in range(TURNS + 1):  # The first compiles.
        start = time.perf_counter()
        gradient(logits).block_until_ready()
        milliseconds.append((time.perf_counter() - start) * 1e3)
    del milliseconds[0]
    median = statistics.median(milliseconds)
    print(f"{median:.0f} ms, {min(milliseconds):.0f} to {max(milliseconds):.0f}")


if __name__ == "__main__":
    main()
