"""Hypotheses: how a search keeps, lengthens, compares and ends them (Section 6.1)."""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.decoding.top_k import top_k

# tokens [batch, beam] and a cache -> logits [batch, beam, vocab_width] and the cache
# one token further. The cache is a dataclass with a part `.sentence`, leaves [batch,
# ...], and a part `.hypothesis`, leaves [batch, beam, ...]; all else in it is scalars.
StepFn = Callable[[jax.Array, Any], tuple[jax.Array, Any]]
LengthPenalty = Literal["gnmt", "length"]

# The log-probability that stands for an end mark that a model excludes where the length
# limit leaves nothing else: low, yet finite, so that the hypothesis is not lost.
_EXCLUDED_END = -1e9


@dataclasses.dataclass(frozen=True)
class SearchSettings:
    """How to search (Section 6.1).

    Attributes:
      eos_id: ends a hypothesis; counts in its length.
      bos_id: the first decoder input; never predicted.
      pad_id: fills the result behind a hypothesis's end; never predicted.
      vocab_size: ids from here on are padding of the table and never predicted.
      beam_size: hypotheses kept for each sentence.
      num_best: finished hypotheses to return, at most `beam_size`.
      alpha: exponent of the length penalty; 0 compares plain log-probabilities.
      length_penalty: "gnmt" is the paper's ((5 + L) / 6)^alpha, "length" is L^alpha.
      block_size: steps in one jitted loop, by which the cache grows between loops.
      min_length: tokens before the end mark, at least, where the limit leaves room.
    """

    eos_id: int
    bos_id: int
    pad_id: int
    vocab_size: int
    beam_size: int
    num_best: int
    alpha: float
    length_penalty: LengthPenalty
    block_size: int
    min_length: int = 0

    def __post_init__(self) -> None:
        if self.beam_size < 1 or not 1 <= self.num_best <= self.beam_size:
            raise ValueError(
                f"beam_size={self.beam_size} and num_best={self.num_best}: expected "
                "1 <= num_best <= beam_size. Widen the beam or ask for fewer."
            )
        if self.block_size < 1:
            raise ValueError(f"block_size={self.block_size}: expected 1 or more.")
        if self.min_length < 0:
            raise ValueError(f"min_length={self.min_length}: expected 0 or more.")
        length_penalty(1, self.alpha, self.length_penalty)


@flax.struct.dataclass
class Hypotheses:
    """Rows of tokens with what the model thinks of them; an empty slot has -inf.

    Attributes:
      tokens: [batch, beam, length] int32.
      log_probs: [batch, beam] float32, of all tokens, the end mark included.
      scores: [batch, beam] float32, log_probs / length_penalty(lengths).
      lengths: [batch, beam] int32, the end mark included; 0 in an empty slot.
    """

    tokens: jax.Array
    log_probs: jax.Array
    scores: jax.Array
    lengths: jax.Array


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """The best finished hypotheses of each sentence, best first; fields as above.

    Slots past the last finished hypothesis have length 0 and score -inf.
    """

    tokens: np.ndarray
    log_probs: np.ndarray
    scores: np.ndarray
    lengths: np.ndarray


@flax.struct.dataclass
class SearchState:
    """Everything a search carries from one step to the next.

    Attributes:
      cache: the model's, `step` tokens long.
      step: int32 scalar, tokens in every open hypothesis.
      tokens: [batch, beam, length] int32, the open hypotheses.
      log_probs: [batch, beam] float32; -inf closes a hypothesis, and a sentence is done
        when all of its hypotheses are closed.
      finished: the `num_best` best that ended, sorted.
    """

    cache: Any
    step: jax.Array
    tokens: jax.Array
    log_probs: jax.Array
    finished: Hypotheses


# One step of a search: step function, state, max_lengths [batch], settings -> state.
AdvanceFn = Callable[[StepFn, SearchState, jax.Array, SearchSettings], SearchState]


def length_penalty(
    length: jax.Array | np.ndarray | int, alpha: float, kind: str
) -> jax.Array:
    """What log-probabilities are divided by to compare unequal lengths (Section 6.1).

    Args:
      length: of any shape; tokens of the hypothesis, the end mark included.
      alpha: exponent; a negative one favours short hypotheses.
      kind: "gnmt", ((5 + length) / 6)^alpha as in the paper (Wu et al. 2016, equation
        14), or "length", length^alpha. The two choose different winners.

    Returns:
      float32 of the shape of `length`.

    Raises:
      ValueError: for another kind.
    """
    length = jnp.asarray(length, jnp.float32)
    if kind == "gnmt":
        return ((5.0 + length) / 6.0) ** alpha
    if kind == "length":
        return length**alpha
    raise ValueError(f'length_penalty={kind!r}: expected "gnmt" or "length".')


def can_still_win(
    log_probs: jax.Array,
    finished_scores: jax.Array,
    length: jax.Array,
    max_lengths: jax.Array,
    settings: SearchSettings,
) -> jax.Array:
    """Tell whether an open hypothesis can still enter the list of the best.

    A log-probability only falls, so the best score within reach keeps today's value and
    has the kindest length of those that remain: the last one where the penalty grows
    with length, the very next one where it shrinks (alpha < 0).

    Args:
      log_probs: [batch, beam], open hypotheses of `length` tokens.
      finished_scores: [batch, num_best], sorted.
      length: int32 scalar.
      max_lengths: [batch] int32.
      settings: of the search.

    Returns:
      [batch] boolean.
    """
    kindest = (
        max_lengths if settings.alpha >= 0 else jnp.full_like(max_lengths, length + 1)
    )
    penalty = length_penalty(kindest, settings.alpha, settings.length_penalty)
    within_reach = jnp.max(log_probs, axis=1) / penalty
    return (within_reach > finished_scores[:, -1]) & (length < max_lengths)


def best_next_tokens(
    logits: jax.Array,
    length: jax.Array,
    max_lengths: jax.Array,
    count: int,
    settings: SearchSettings,
) -> tuple[jax.Array, jax.Array]:
    """Choose the most probable next tokens of each hypothesis.

    Log-probabilities are the model's own: pad, BOS and an end mark before `min_length`,
    though never chosen, have their share of the sum. Where the length limit is reached,
    the end mark alone may come, with its true log-probability. The logits, the widest
    array of a step, are read and never written again: what may not come is put aside
    among the few that are best.

    Args:
      logits: [batch, beam, vocab_width].
      length: int32 scalar, of the hypotheses with the token that is chosen.
      max_lengths: [batch] int32, how long they may be.
      count: how many to choose, if the vocabulary has so many.
      settings: of the search.

    Returns:
      log_probs, tokens: each [batch, beam, count]; -inf where a token may not come.
    """
    logits = logits[:, :, : settings.vocab_size].astype(jnp.float32)
    count = min(count, settings.vocab_size)
    # More, in case that what may not come is among them.
    num_excluded = 3 if settings.min_length else 2
    best, tokens = top_k(logits, min(count + num_excluded, settings.vocab_size))
    # Not best[:, :, :1]: XLA on CPUs would sort all blocks to the end for that slice.
    highest = jnp.max(best, axis=-1, keepdims=True)
    log_sums = highest + jnp.log(
        jnp.sum(jnp.exp(logits - highest), axis=-1, keepdims=True)
    )
    may_come = (tokens != settings.pad_id) & (tokens != settings.bos_id)
    if settings.min_length:
        may_come &= (tokens != settings.eos_id) | (length > settings.min_length)
    words, places = jax.lax.top_k(jnp.where(may_come, best, -jnp.inf), count)
    tokens = jnp.take_along_axis(tokens, places, axis=-1)
    end = jnp.maximum(logits[:, :, settings.eos_id, None], _EXCLUDED_END)
    is_first = (jnp.arange(count) == 0)[None, None, :]
    is_last = (length == max_lengths)[:, None, None]
    values = jnp.where(is_last, jnp.where(is_first, end, -jnp.inf), words)
    tokens = jnp.where(is_last, settings.eos_id, tokens)
    return values - log_sums, tokens


def close_diverged(log_probs: jax.Array) -> jax.Array:
    """Put -inf, which closes a hypothesis, for the NaN of a model that has diverged."""
    return jnp.where(log_probs > -jnp.inf, log_probs, -jnp.inf)


def end_hypotheses(
    tokens: jax.Array,
    log_probs: jax.Array,
    length: jax.Array,
    settings: SearchSettings,
) -> Hypotheses:
    """Score hypotheses that end at `length`: log P / length penalty (Section 6.1).

    Args:
      tokens: [batch, beam, length].
      log_probs: [batch, beam]; -inf leaves a slot empty.
      length: int32 scalar, the end mark included.
      settings: of the search.
    """
    penalty = length_penalty(length, settings.alpha, settings.length_penalty)
    return Hypotheses(
        tokens=tokens,
        log_probs=log_probs,
        scores=log_probs / penalty,
        lengths=jnp.where(log_probs > -jnp.inf, length, 0),
    )


def last_tokens(state: SearchState, settings: SearchSettings) -> jax.Array:
    """Return the next decoder input [batch, beam]: BOS, then what was chosen last."""
    previous = jax.lax.dynamic_index_in_dim(
        state.tokens, jnp.maximum(state.step - 1, 0), axis=2, keepdims=False
    )
    return jnp.where(state.step == 0, settings.bos_id, previous)
