"""Greedy search: the most probable token at each step, beam search with a beam of 1."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from transformer_jax.decoding.hypotheses import (
    SearchResult,
    SearchSettings,
    SearchState,
    StepFn,
    best_next_tokens,
    close_diverged,
    end_hypotheses,
    last_tokens,
)
from transformer_jax.decoding.search import GrowCacheFn, search


def greedy_search(
    step_fn: StepFn,
    cache: Any,
    max_lengths: np.ndarray | jax.Array,
    settings: SearchSettings,
    grow_cache_fn: GrowCacheFn,
    placement: NamedSharding | None = None,
) -> SearchResult:
    """Take the most probable token until it is the end mark or the limit is reached.

    Arguments and result are those of `beam_search` with beam_size 1, and so is every
    choice; no cache is reordered.
    """
    if settings.beam_size != 1:
        raise ValueError(
            f"beam_size={settings.beam_size}: greedy search has one hypothesis. Use "
            "beam_search or beam_size 1."
        )
    return search(
        _advance, step_fn, cache, max_lengths, settings, grow_cache_fn, placement
    )


def _advance(
    step_fn: StepFn,
    state: SearchState,
    max_lengths: jax.Array,
    settings: SearchSettings,
) -> SearchState:
    """Lengthen every open hypothesis by its most probable token."""
    logits, cache = step_fn(last_tokens(state, settings), state.cache)
    length = state.step + 1
    best, chosen = best_next_tokens(logits, length, max_lengths, 1, settings)
    next_tokens = chosen[:, :, 0]
    log_probs = close_diverged(state.log_probs + best[:, :, 0])
    tokens = state.tokens.at[:, :, state.step].set(next_tokens)

    is_end = (next_tokens == settings.eos_id) & (log_probs > -jnp.inf)
    ended = end_hypotheses(tokens, log_probs, length, settings)
    return SearchState(
        cache=cache,
        step=length,
        tokens=tokens,
        log_probs=jnp.where(is_end, -jnp.inf, log_probs),
        finished=jax.tree.map(
            lambda now, before: jnp.where(
                is_end.reshape(is_end.shape + (1,) * (now.ndim - 2)), now, before
            ),
            ended,
            state.finished,
        ),
    )
