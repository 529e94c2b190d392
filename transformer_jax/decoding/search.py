"""A search from its start to its result: blocks of steps under a loop on the host."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from transformer_jax.decoding.hypotheses import (
    AdvanceFn,
    Hypotheses,
    SearchResult,
    SearchSettings,
    SearchState,
    StepFn,
)

GrowCacheFn = Callable[[Any, int], Any]

# Fewer rows are not made, for the sake of fewer programs.
_FEWEST_ROWS = 16


def search(
    advance: AdvanceFn,
    step_fn: StepFn,
    cache: Any,
    max_lengths: np.ndarray | jax.Array,
    settings: SearchSettings,
    grow_cache_fn: GrowCacheFn,
    placement: NamedSharding | None = None,
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
        mark included; 0 makes a row a filler.
      settings: of the search.
      grow_cache_fn: (cache, max_length) -> the cache with room for max_length tokens.
      placement: how the rows of cache and lengths are split over devices, each of which
        searches for its own; None: all on one.
    """
    if not isinstance(step_fn, jax.tree_util.Partial):
        step_fn = jax.tree_util.Partial(step_fn)
    max_lengths = jnp.asarray(max_lengths, jnp.int32)
    num_devices = 1 if placement is None else placement.mesh.size
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
