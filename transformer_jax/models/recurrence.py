"""Recurrent cells, over all positions of a row or one step at a time.

What does not depend on the state, a cell's map of its input, is one product for all
positions; what does runs under `lax.scan`. Cells are functions of arrays for that
reason: a scan's body cannot make parameters.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from transformer_jax.fields import check_declared, fixed
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.layers import Linear, flat_product
from transformer_jax.models.segments import is_first, is_last
from transformer_jax.models.vocabulary import VocabularyConfig, check_vocabulary

CellName = Literal["lstm", "gru"]
RecurrentDropout = Literal["zaremba", "variational"]

# So that a new LSTM remembers; not in Sutskever et al., Jozefowicz et al. 2015 have it.
_FORGET_BIAS = 1.0


@dataclasses.dataclass(frozen=True)
class RecurrenceConfig(VocabularyConfig):
    """What the configs of all recurrent models say of their layers."""

    dropout_kind: RecurrentDropout = fixed(
        "zaremba",
        "zaremba never drops what goes from a state to the next (Zaremba et al. 2014); "
        "variational drops the same features at every position, of states too",
    )

    def __post_init__(self) -> None:
        check_declared(self)
        check_vocabulary(self)

    @property
    def longest_length(self) -> None:
        """A state goes on for ever."""
        return None


class Cell(NamedTuple):
    """A recurrent cell.

    Attributes:
      num_gates: maps of the input, and of the state, that a step needs.
      num_parts: vectors of a state; the first of them is what other layers see.
      advance: takes one step. From the mapped input [..., num_gates, d_state], a state
        float32 [..., num_parts, d_state], the hidden vector as the maps shall see it
        [..., d_state] and the recurrent kernel [d_state, num_gates, d_state] to the
        next state.
    """

    num_gates: int
    num_parts: int
    advance: Callable[[jax.Array, jax.Array, jax.Array, jax.Array], jax.Array]


def advance_lstm(
    mapped: jax.Array, state: jax.Array, hidden: jax.Array, kernel: jax.Array
) -> jax.Array:
    """Take a step of long short-term memory (Zaremba et al. 2014, Section 3.1).

    Gates are in the order input, forget, candidate, output; a state is hidden vector
    and memory. 4 (d_in + d_h + 1) d_h parameters.
    """
    gates = mapped + flat_product(hidden, kernel, 1, mapped.dtype)
    gates = gates.astype(jnp.float32)
    enter, keep, candidate, leave = (gates[..., gate, :] for gate in range(4))
    memory = jax.nn.sigmoid(keep + _FORGET_BIAS) * state[..., 1, :]
    memory = memory + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
    return jnp.stack([jax.nn.sigmoid(leave) * jnp.tanh(memory), memory], axis=-2)


def advance_gru(
    mapped: jax.Array, state: jax.Array, hidden: jax.Array, kernel: jax.Array
) -> jax.Array:
    """Take a step of a gated recurrent unit (Cho et al. 2014, Section 2.3).

    Gates are in the order reset, update, candidate; an open update gate keeps the
    state. The reset gate acts before the candidate's product, as it was published.
    3 (d_in + d_h + 1) d_h parameters.
    """
    gates = mapped[..., :2, :] + flat_product(hidden, kernel[:, :2], 1, mapped.dtype)
    gates = jax.nn.sigmoid(gates.astype(jnp.float32))
    reset, update = gates[..., 0, :], gates[..., 1, :]
    recalled = flat_product(reset * hidden, kernel[:, 2], 1, mapped.dtype)
    candidate = jnp.tanh((mapped[..., 2, :] + recalled).astype(jnp.float32))
    return (update * state[..., 0, :] + (1 - update) * candidate)[..., None, :]


CELLS = {"lstm": Cell(4, 2, advance_lstm), "gru": Cell(3, 1, advance_gru)}


def scan_sentences(
    step: Callable[[jax.Array, Any], tuple[jax.Array, Any]],
    inputs: Any,
    segments: jax.Array,
    initial: jax.Array,
    *,
    is_reverse: bool = False,
) -> Any:
    """Run `step` along each sentence of each row.

    Args:
      step: from the state [batch, ...] and a position's inputs [batch, ...] to the next
        state and a position's output.
      inputs: tree of [batch, length, ...].
      segments: [batch, length]; what is written at padding comes from padding alone.
      initial: [batch, length, ...], at each sentence's first position the state that it
        starts from; [batch, 1, ...] if all start from the same.
      is_reverse: from the last position to the first.

    Returns:
      Tree of the outputs [batch, length, ...].
    """

    def turned(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), tree)

    def advance(state: jax.Array, given: Any) -> tuple[jax.Array, Any]:
        starts, position_initial, position_inputs = given
        starts = starts.reshape(-1, *(1,) * (state.ndim - 1))
        start = initial[:, 0] if position_initial is None else position_initial
        return step(jnp.where(starts, start, state), position_inputs)

    starts = is_last(segments) if is_reverse else is_first(segments)
    varying = None if initial.shape[1] == 1 else turned(initial)
    by_position = turned(starts), varying, turned(inputs)
    state = jnp.zeros_like(initial[:, 0])
    _, outputs = lax.scan(advance, state, by_position, reverse=is_reverse)
    return turned(outputs)


class RecurrentLayer(nn.Module):
    """A cell that reads a row from one end to the other.

    Attributes:
      cell: a name in `CELLS`.
      d_in: width of what is read.
      d_state: d_h, width of the state's vectors.
      dropout_rate: of what is read, and variational also of the state.
      dropout_kind: zaremba drops what is read at each position anew and never the state
        (Zaremba et al. 2014); variational drops the same features of both at every
        position of a row (Gal and Ghahramani 2016).
      dtype: what to compute in; states are float32.
    """

    cell: CellName
    d_in: int
    d_state: int
    dropout_rate: float
    dropout_kind: RecurrentDropout = "zaremba"
    dtype: DTypeLike = jnp.float32

    def setup(self) -> None:
        is_variational = self.dropout_kind == "variational"
        self.input_dropout = Dropout(self.dropout_rate, is_variational)
        self.state_dropout = Dropout(
            self.dropout_rate if is_variational else 0.0, is_variational
        )
        gates = CELLS[self.cell].num_gates, self.d_state
        axes = "gates", "d_state"
        self.from_input = Linear((self.d_in,), gates, ("d_in",), axes, True, self.dtype)
        self.from_state = Linear(
            (self.d_state,), gates, ("d_hidden",), axes, dtype=self.dtype
        )

    @property
    def num_parts(self) -> int:
        """Vectors of a state."""
        return CELLS[self.cell].num_parts

    def __call__(
        self,
        x: jax.Array,
        segments: jax.Array,
        dropout: DropoutBits | None,
        *,
        initial: jax.Array | None = None,
        is_reverse: bool = False,
    ) -> jax.Array:
        """Read each sentence.

        Args:
          x: [batch, length, d_in].
          segments: [batch, length], 0 on padding.
          dropout: randomness, or None for none.
          initial: float32 [batch, length, num_parts, d_state], the states that the
            sentences start from, at their first positions; None: zeros.
          is_reverse: from each sentence's end to its start.

        Returns:
          The state after each position, float32 [batch, length, num_parts, d_state].
        """
        if initial is None:
            initial = jnp.zeros((len(x), 1, self.num_parts, self.d_state))
        advance = self.advancer(len(x), dropout)

        def step(state: jax.Array, mapped: jax.Array) -> tuple[jax.Array, jax.Array]:
            state = advance(mapped, state)
            return state, state

        mapped = self.map_input(x, dropout)
        return scan_sentences(step, mapped, segments, initial, is_reverse=is_reverse)

    def map_input(self, x: jax.Array, dropout: DropoutBits | None) -> jax.Array:
        """Map what is read [..., d_in] to [..., num_gates, d_state], after dropout."""
        return self.from_input(self.input_dropout(x, dropout))

    def step(self, x: jax.Array, state: jax.Array) -> jax.Array:
        """Read one position of every hypothesis.

        Args:
          x: [batch, num_hypotheses, d_in].
          state: [batch, num_hypotheses, num_parts, d_state].

        Returns:
          The next state.
        """
        return self.advancer(len(x), None)(self.map_input(x, None), state)

    def advancer(
        self, num_rows: int, dropout: DropoutBits | None
    ) -> Callable[[jax.Array, jax.Array], jax.Array]:
        """Return the cell's step as a function of arrays alone, for a scan's body.

        Args:
          num_rows: batch.
          dropout: randomness, or None for none.

        Returns:
          From the mapped input [batch, ..., num_gates, d_state] and the state [batch,
          ..., num_parts, d_state] to the next state.
        """
        kernel, cell = self.from_state.kernel, CELLS[self.cell]
        kept = self.state_dropout(jnp.ones((num_rows, 1, self.d_state)), dropout)[:, 0]

        def advance(mapped: jax.Array, state: jax.Array) -> jax.Array:
            hidden = state[..., 0, :]
            hidden = hidden * kept.reshape(
                num_rows, *(1,) * (hidden.ndim - 2), self.d_state
            )
            return cell.advance(mapped, state, hidden, kernel)

        return advance


def recurrent_layer(config: Any, d_in: int) -> RecurrentLayer:
    """Return a layer that reads `d_in`, with what a model's config says of the rest."""
    return RecurrentLayer(
        config.cell,
        d_in,
        config.d_state,
        config.dropout_rate,
        config.dropout_kind,
        config.dtype,
    )
