"""Beam search over a step function, with a length penalty and an exact early stop.

At each step the `beam_size` best continuations of all open hypotheses are kept. Those
that end here leave the beam and compete by score; the others stay open. So a beam of 1
is greedy search, and a beam as wide as the number of hypotheses is exhaustive search.
(The paper leaves the details open; tensor2tensor looks at twice as many continuations
to keep the beam full, which makes its beam of 1 differ from greedy search.)
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from transformer_jax.decoding.hypotheses import (
    Hypotheses,
    SearchResult,
    SearchSettings,
    SearchState,
    StepFn,
    best_next_tokens,
    can_still_win,
    close_diverged,
    end_hypotheses,
    last_tokens,
)
from transformer_jax.decoding.search import GrowCacheFn, search


def beam_search(
    step_fn: StepFn,
    cache: Any,
    max_lengths: np.ndarray | jax.Array,
    settings: SearchSettings,
    grow_cache_fn: GrowCacheFn,
    placement: NamedSharding | None = None,
) -> SearchResult:
    """Find the hypotheses with the best score = log P / length penalty (Section 6.1).

    A sentence is done when no open hypothesis can still enter its `num_best`, or when
    its length limit is reached: there every open hypothesis is ended, with the end
    mark's true log-probability, so that something always comes out. Its result does not
    depend on the other sentences of the batch.

    Args:
      step_fn: tokens [batch, beam_size] and cache -> logits [batch, beam_size,
        vocab_width] and cache.
      cache: made for `beam_size` hypotheses and `settings.block_size` tokens.
      max_lengths: [batch] int32, tokens allowed, the end mark included; 0 in a filler.
      settings: of the search.
      grow_cache_fn: (cache, max_length) -> the cache with room for max_length tokens.
      placement: see `search`.

    Returns:
      A `SearchResult` of numpy arrays: tokens [batch, num_best, length], the others
      [batch, num_best]. The hypotheses of a sentence are distinct.
    """
    return search(
        _advance, step_fn, cache, max_lengths, settings, grow_cache_fn, placement
    )


def _advance(
    step_fn: StepFn,
    state: SearchState,
    max_lengths: jax.Array,
    settings: SearchSettings,
) -> SearchState:
    """Lengthen every open hypothesis by one token."""
    logits, cache = step_fn(last_tokens(state, settings), state.cache)
    length = state.step + 1
    log_probs, parents, next_tokens = _best_continuations(
        logits, state.log_probs, length, max_lengths, settings
    )
    tokens = _take(state.tokens, parents).at[:, :, state.step].set(next_tokens)
    is_end = next_tokens == settings.eos_id

    log_probs_of_ended = jnp.where(is_end, log_probs, -jnp.inf)
    ended = end_hypotheses(tokens, log_probs_of_ended, length, settings)
    finished = _keep_best(state.finished, ended, settings.num_best)
    still_open = jnp.where(is_end, -jnp.inf, log_probs)
    goes_on = can_still_win(still_open, finished.scores, length, max_lengths, settings)
    return SearchState(
        cache=dataclasses.replace(
            cache,
            hypothesis=jax.tree.map(
                lambda leaf: _take(leaf, parents), cache.hypothesis
            ),
        ),
        step=length,
        tokens=tokens,
        log_probs=jnp.where(goes_on[:, None], still_open, -jnp.inf),
        finished=finished,
    )


def _best_continuations(
    logits: jax.Array,
    log_probs: jax.Array,
    length: jax.Array,
    max_lengths: jax.Array,
    settings: SearchSettings,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Choose the best of all hypotheses times all tokens.

    The best few of each hypothesis come first: sorting beam * beam candidates is cheap
    beside sorting beam * vocab_size.

    Args:
      logits: [batch, beam, vocab_width].
      log_probs: [batch, beam], of the open hypotheses so far.
      length: int32 scalar, of the hypotheses with the token that is chosen.
      max_lengths: [batch] int32, at which only the end mark may come.
      settings: of the search.

    Returns:
      log_probs, parents (which hypothesis it continues), tokens: each [batch, beam],
      best first; a slot without a continuation has log-probability -inf.
    """
    batch, beam, _ = logits.shape
    next_log_probs, tokens = best_next_tokens(
        logits, length, max_lengths, beam, settings
    )
    candidates = close_diverged(log_probs[:, :, None] + next_log_probs)
    best, chosen = jax.lax.top_k(candidates.reshape(batch, -1), beam)
    tokens = jnp.take_along_axis(tokens.reshape(batch, -1), chosen, axis=1)
    return best, chosen // candidates.shape[-1], tokens


def _keep_best(finished: Hypotheses, ended: Hypotheses, num_best: int) -> Hypotheses:
    """Keep the best of those finished before and those that end here."""
    both = jax.tree.map(
        lambda before, now: jnp.concatenate([before, now], axis=1), finished, ended
    )
    _, chosen = jax.lax.top_k(both.scores, num_best)
    return jax.tree.map(lambda leaf: _take(leaf, chosen), both)


def _take(leaf: jax.Array, rows: jax.Array) -> jax.Array:
    """Gather [batch, beam, ...] along the beam by rows [batch, new_beam]."""
    return jax.vmap(lambda leaf, rows: leaf[rows])(leaf, rows)
