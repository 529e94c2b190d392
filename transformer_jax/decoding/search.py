"""What greedy and beam search share: settings, state, blocks of steps, result."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Literal

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from transformer_jax.decoding.top_k import top_k

# tokens [batch, beam] and a cache -> logits [batch, beam, vocab_width] and the cache
# one token further. The cache is a dataclass with a part `.sentence`, leaves [batch,
# ...], and a part `.hypothesis`, leaves [batch, beam, ...]; all else in it is scalars.
StepFn = Callable[[jax.Array, Any], tuple[jax.Array, Any]]
GrowCacheFn = Callable[[Any, int], Any]
LengthPenalty = Literal["gnmt", "length"]

# The log-probability that stands for an end mark that a model excludes where the length
# limit leaves nothing else: low, yet finite, so that the hypothesis is not lost.
_EXCLUDED_END = -1e9

# Fewer rows are not made, for the sake of fewer programs.
_FEWEST_ROWS = 16


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

    def __post_init__(self) -> None:
        if self.beam_size < 1 or not 1 <= self.num_best <= self.beam_size:
            raise ValueError(
                f"beam_size={self.beam_size} and num_best={self.num_best}: expected "
                "1 <= num_best <= beam_size. Widen the beam or ask for fewer."
            )
        if self.block_size < 1:
            raise ValueError(f"block_size={self.block_size}: expected 1 or more.")
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
    logits: jax.Array, is_last: jax.Array, count: int, settings: SearchSettings
) -> tuple[jax.Array, jax.Array]:
    """Choose the most probable next tokens of each hypothesis.

    Log-probabilities are the model's own: pad and BOS, though never chosen, have their
    share of the sum. Where the length limit is reached, the end mark alone may come,
    with its true log-probability. The logits, the widest array of a step, are read and
    never written again: what may not come is put aside among the few that are best.

    Args:
      logits: [batch, beam, vocab_width].
      is_last: [batch] boolean, whether the next token is the last allowed.
      count: how many to choose, if the vocabulary has so many.
      settings: of the search.

    Returns:
      log_probs, tokens: each [batch, beam, count]; -inf where a token may not come.
    """
    logits = logits[:, :, : settings.vocab_size].astype(jnp.float32)
    count = min(count, settings.vocab_size)
    # Two more, in case that pad and BOS are among them.
    best, tokens = top_k(logits, min(count + 2, settings.vocab_size))
    # Not best[:, :, :1]: XLA on CPUs would sort all blocks to the end for that slice.
    highest = jnp.max(best, axis=-1, keepdims=True)
    log_sums = highest + jnp.log(
        jnp.sum(jnp.exp(logits - highest), axis=-1, keepdims=True)
    )
    is_word = (tokens != settings.pad_id) & (tokens != settings.bos_id)
    words, places = jax.lax.top_k(jnp.where(is_word, best, -jnp.inf), count)
    tokens = jnp.take_along_axis(tokens, places, axis=-1)
    end = jnp.maximum(logits[:, :, settings.eos_id, None], _EXCLUDED_END)
    is_first = (jnp.arange(count) == 0)[None, None, :]
    is_last = is_last[:, None, None]
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


def search(
    advance: AdvanceFn,
    step_fn: StepFn,
    cache: Any,
    max_lengths: np.ndarray | jax.Array,
    settings: SearchSettings,
    grow_cache_fn: GrowCacheFn,
) -> SearchResult:
    """Run `advance` until every sentence is done, in jitted blocks of steps.

    A block ends when half of its rows are done, and the others go on without them, or
    when the cache is full, which then grows by `settings.block_size`: few shapes, each
    compiled once for a step function and settings. To give a step function new
    parameters without a new compilation, pass `jax.tree_util.Partial(function,
    params)`, always the same function.

    Args:
      advance: one step of greedy or beam search.
      step_fn: the model.
      cache: made for `settings.block_size` tokens, with no token in it.
      max_lengths: [batch] int32, tokens allowed in each sentence's hypotheses, the end
        mark included; 0 makes a row a filler. If it is split over devices, each
        searches for its own rows.
      settings: of the search.
      grow_cache_fn: (cache, max_length) -> the cache with room for max_length tokens.
    """
    if not isinstance(step_fn, jax.tree_util.Partial):
        step_fn = jax.tree_util.Partial(step_fn)
    max_lengths = jnp.asarray(max_lengths, jnp.int32)
    num_devices = len(max_lengths.sharding.device_set)
    placement = max_lengths.sharding if num_devices > 1 else None
    state = _start(cache, max_lengths, settings=settings, placement=placement)
    rows = np.arange(len(max_lengths))
    found = []
    while True:
        state, is_open = _run_block(
            step_fn,
            state,
            max_lengths,
            _fewer_rows(len(rows), num_devices),
            advance=advance,
            settings=settings,
            placement=placement,
        )
        is_open = np.asarray(is_open)
        num_rows = _rows_for(int(is_open.sum()), len(rows), num_devices)
        if num_rows < len(rows):
            found.append((rows, jax.device_get(state.finished)))
            if num_rows == 0:
                return _collect(found, settings)
            # The open rows, and as many that are done as the fixed size has room for.
            chosen = np.argsort(~is_open, kind="stable")[:num_rows]
            state, max_lengths = _take_rows(
                state, max_lengths, chosen, placement=placement
            )
            rows = rows[chosen]
        max_length = state.tokens.shape[-1]
        if state.step == max_length:
            max_length += settings.block_size
            state = _grow(state, max_length, grow_cache_fn, settings.pad_id)


def _fewer_rows(num_rows: int, num_devices: int) -> int:
    """Return half of the rows, which devices can share; 0 if so few are not worth it.

    A step's time is proportional to its rows down to a few, on CPUs at least.
    """
    half = num_rows // 2
    half -= half % num_devices
    return half if half >= _FEWEST_ROWS else 0


def _rows_for(num_open: int, num_rows: int, num_devices: int) -> int:
    """Return the least of the fixed sizes up to `num_rows` that holds the open rows."""
    while (fewer := _fewer_rows(num_rows, num_devices)) >= num_open > 0:
        num_rows = fewer
    return num_rows if num_open else 0


def split_rows(tree: Any, placement: NamedSharding | None) -> Any:
    """Split the rows of all but scalars over devices, within a jitted function.

    None leaves them be. Left to the compiler, the zeros of an empty cache, for example,
    may lie whole on every device.
    """
    if placement is None:
        return tree
    return jax.tree.map(
        lambda leaf: (
            jax.lax.with_sharding_constraint(leaf, placement) if leaf.ndim else leaf
        ),
        tree,
    )


@functools.partial(jax.jit, static_argnames=("settings", "placement"))
def _start(
    cache: Any,
    max_lengths: jax.Array,
    *,
    settings: SearchSettings,
    placement: NamedSharding | None,
) -> SearchState:
    """Open one hypothesis for each sentence; its equals would only be duplicates."""
    batch, beam, length = len(max_lengths), settings.beam_size, settings.block_size
    is_first = (jnp.arange(beam) == 0)[None, :]
    none = jnp.full((batch, settings.num_best), -jnp.inf, jnp.float32)
    state = SearchState(
        cache=cache,
        step=jnp.zeros((), jnp.int32),
        tokens=jnp.full((batch, beam, length), settings.pad_id, jnp.int32),
        log_probs=jnp.where(is_first & (max_lengths > 0)[:, None], 0.0, -jnp.inf),
        finished=Hypotheses(
            tokens=jnp.full((*none.shape, length), settings.pad_id, jnp.int32),
            log_probs=none,
            scores=none,
            lengths=jnp.zeros(none.shape, jnp.int32),
        ),
    )
    return split_rows(state, placement)


@functools.partial(jax.jit, static_argnames=("advance", "settings", "placement"))
def _run_block(
    step_fn: StepFn,
    state: SearchState,
    max_lengths: jax.Array,
    fewer_rows: int,
    *,
    advance: AdvanceFn,
    settings: SearchSettings,
    placement: NamedSharding | None,
) -> tuple[SearchState, jax.Array]:
    """Advance to the end of the token buffer or until few sentences are open.

    Returns:
      The state, and [batch] boolean: which sentences are open.
    """

    def is_open(state: SearchState) -> jax.Array:
        return jnp.any(state.log_probs > -jnp.inf, axis=1)

    def goes_on(state: SearchState, fewer_rows: jax.Array) -> jax.Array:
        num_open = jnp.sum(is_open(state))
        if placement is not None:
            num_open = jax.lax.psum(num_open, placement.mesh.axis_names)
        return (state.step < state.tokens.shape[-1]) & (num_open > fewer_rows)

    def block(
        step_fn: StepFn, state: SearchState, max_lengths: jax.Array, fewer_rows: Any
    ) -> tuple[SearchState, jax.Array]:
        state = jax.lax.while_loop(
            lambda state: goes_on(state, fewer_rows),
            lambda state: advance(step_fn, state, max_lengths, settings),
            state,
        )
        return state, is_open(state)

    if placement is not None:
        # Left to itself, the compiler would gather all logits to find the best.
        whole, by_row = PartitionSpec(), placement.spec
        of_state = jax.tree.map(lambda leaf: by_row if leaf.ndim else whole, state)
        block = jax.shard_map(
            block,
            mesh=placement.mesh,
            in_specs=(whole, of_state, by_row, whole),
            out_specs=(of_state, by_row),
            check_vma=False,
        )
    return block(step_fn, state, max_lengths, fewer_rows)


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def _grow(
    state: SearchState, length: int, grow_cache_fn: GrowCacheFn, pad_id: int
) -> SearchState:
    """Make room for `length` tokens in the cache, the open and the finished rows."""

    def pad(tokens: jax.Array) -> jax.Array:
        room = ((0, 0), (0, 0), (0, length - tokens.shape[-1]))
        return jnp.pad(tokens, room, constant_values=pad_id)

    return dataclasses.replace(
        state,
        cache=grow_cache_fn(state.cache, length),
        tokens=pad(state.tokens),
        finished=dataclasses.replace(state.finished, tokens=pad(state.finished.tokens)),
    )


@functools.partial(jax.jit, static_argnames="placement")
def _take_rows(
    state: SearchState,
    max_lengths: jax.Array,
    rows: jax.Array,
    *,
    placement: NamedSharding | None,
) -> tuple[SearchState, jax.Array]:
    """Keep some of the sentences, wherever they lie."""

    def take(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[rows], tree)

    cache = dataclasses.replace(
        state.cache,
        sentence=take(state.cache.sentence),
        hypothesis=take(state.cache.hypothesis),
    )
    state = SearchState(
        cache=cache,
        step=state.step,
        tokens=take(state.tokens),
        log_probs=take(state.log_probs),
        finished=take(state.finished),
    )
    return split_rows((state, max_lengths[rows]), placement)


def _collect(
    found: list[tuple[np.ndarray, Hypotheses]], settings: SearchSettings
) -> SearchResult:
    """Put rows that were found at different times together; the later ones count."""
    shape = (*found[0][1].lengths.shape, found[-1][1].tokens.shape[-1])
    result = SearchResult(
        tokens=np.full(shape, settings.pad_id, np.int32),
        log_probs=np.empty(shape[:2], np.float32),
        scores=np.empty(shape[:2], np.float32),
        lengths=np.empty(shape[:2], np.int32),
    )
    for rows, finished in found:
        result.tokens[rows, :, : finished.tokens.shape[-1]] = finished.tokens
        result.log_probs[rows] = finished.log_probs
        result.scores[rows] = finished.scores
        result.lengths[rows] = finished.lengths
    return result
