"""How well a run foresees each token of right translations."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.runs.trained_run import TrainedRun

_ROWS = 50  # sentences that are scored at a time


def score_tokens(
    run: TrainedRun, pairs: Sequence[tuple[str, str]]
) -> list[list[tuple[float, int]]]:
    """Return -log p and whether it is the likeliest, of each target token with EOS."""
    tokenizer = run.target_tokenizer
    sides = [tokenizer.encode(list(side)) for side in zip(*pairs, strict=True)]
    length = max(len(ids) for side in sides for ids in side) + 1
    apply = jax.jit(functools.partial(_next_tokens, run.parts.model))
    scores = []
    for start in range(0, len(pairs), _ROWS):
        source, target = (side[start : start + _ROWS] for side in sides)
        arrays = (
            _rows([[*ids, tokenizer.eos_id] for ids in source], length),
            _rows([[tokenizer.bos_id, *ids] for ids in target], length),
            _rows([[*ids, tokenizer.eos_id] for ids in target], length),
        )
        nll, is_right = map(np.asarray, apply(run.params, *arrays))
        for row, ids in enumerate(target):
            count = len(ids) + 1
            found = zip(nll[row, :count], is_right[row, :count], strict=True)
            scores.append([(float(nll), int(right)) for nll, right in found])
    return scores


def _next_tokens(
    model: Any, params: Any, source: Any, given: Any, truth: Any
) -> tuple[jax.Array, jax.Array]:
    """Return [rows, length] -log p of the truth, and whether it is the likeliest.

    Args:
      model: the network.
      params: its parameters.
      source: [rows, length] tokens, -1 on padding.
      given: [rows, length] the decoder's input, likewise.
      truth: [rows, length] the tokens that come next, likewise.
    """
    logits = model.apply(
        {"params": params},
        jnp.maximum(source, 0),
        jnp.maximum(given, 0),
        source_segments=(source >= 0).astype(int),
        target_segments=(given >= 0).astype(int),
    )
    log_p = jax.nn.log_softmax(jnp.asarray(logits, jnp.float32))
    of_truth = jnp.take_along_axis(log_p, jnp.maximum(truth, 0)[..., None], axis=-1)
    return -of_truth[..., 0], log_p.argmax(axis=-1) == truth


def _rows(sentences: Sequence[Sequence[int]], length: int) -> np.ndarray:
    """Return int32 [_ROWS, length] with a sentence in each row, -1 elsewhere."""
    rows = np.full((_ROWS, length), -1, np.int32)
    for row, ids in zip(rows, sentences, strict=False):
        row[: len(ids)] = ids
    return rows
