"""Positions: fixed sinusoids or a learned table (Section 3.5), and where they act."""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.errors import UserError
from transformer_jax.models.parameters import parameter

SinusoidLayout = Literal["interleaved", "halves", "tensor2tensor"]


def sinusoidal_positions(
    num_positions: int, d_model: int, layout: SinusoidLayout = "interleaved"
) -> np.ndarray:
    """Return the sine and cosine encodings of the first positions (Section 3.5).

    Computed in float64: in float32 the angle of position 1000 is off by up to 1e-4.

    Args:
      num_positions: rows of the table.
      d_model: its width, even.
      layout: "interleaved" is the paper's PE(pos, 2i) = sin(pos / 10000^(2i / d_model))
        with the cosine beside it; "halves" has the same columns, all sines first;
        "tensor2tensor" has halves whose exponent reaches 1: i / (d_model / 2 - 1).

    Returns:
      float32 [num_positions, d_model].
    """
    if d_model % 2:
        raise ValueError(
            f"sinusoids come in pairs, so d_model must be even, got {d_model}"
        )
    pair = np.arange(d_model // 2)
    if layout == "tensor2tensor":
        exponent = pair / max(d_model // 2 - 1, 1)
    else:
        exponent = 2 * pair / d_model
    angles = np.arange(num_positions)[:, None] / 10000.0 ** exponent[None, :]
    sines_and_cosines = [np.sin(angles), np.cos(angles)]
    if layout == "interleaved":
        table = np.stack(sines_and_cosines, axis=-1).reshape(num_positions, d_model)
    else:
        table = np.concatenate(sines_and_cosines, axis=-1)
    return table.astype(np.float32)


def _rows(table: jax.Array, positions: jax.Array | None, length: int) -> jax.Array:
    """Return [batch or 1, length, d_model] of a [num_positions, d_model] table."""
    if positions is None:
        return table[None, :length]
    return jnp.take(table, positions, axis=0, mode="clip")


class SinusoidalPositions(nn.Module):
    """The encodings of some positions; no parameters, no largest position (3.5).

    Attributes:
      d_model: their width.
      layout: see `sinusoidal_positions`.
    """

    d_model: int
    layout: SinusoidLayout

    def __call__(self, positions: jax.Array | None, length: int) -> jax.Array:
        """Encode positions.

        Args:
          positions: [batch, any length], each below `length`; None means 0, 1, ...
          length: number of positions that there can be.

        Returns:
          float32 [batch, any length, d_model], or [1, length, d_model] for None.
        """
        table = sinusoidal_positions(length, self.d_model, self.layout)
        return _rows(jnp.asarray(table), positions, length)


class LearnedPositions(nn.Module):
    """A learned vector for each position (Section 3.5; Table 3, row E).

    Attributes:
      d_model: width of the vectors.
      max_positions: how many there are.
    """

    d_model: int
    max_positions: int

    @nn.compact
    def __call__(self, positions: jax.Array | None, length: int) -> jax.Array:
        """Look positions up.

        Args:
          positions: [batch, any length], each below `length`; None means 0, 1, ...
            Positions past the table get its last row.
          length: number of positions that there can be.

        Returns:
          float32 [batch, any length, d_model], or [1, length, d_model] for None.

        Raises:
          UserError: if the positions 0, 1, ... do not fit into the table.
        """
        if positions is None and length > self.max_positions:
            raise UserError(
                f"a row of {length} tokens is longer than the {self.max_positions} "
                f"learned positions. Raise max_positions to {length} or more, or "
                "shorten the rows."
            )
        # The paper is silent; the same spread as the token table's.
        init = nn.initializers.normal(self.d_model**-0.5)
        shape = (self.max_positions, self.d_model)
        table = parameter(self, "embedding", init, ("positions", "d_model"), shape)
        return _rows(table, positions, length)


# (query or key [batch, length, num_heads, d_k], positions [batch or 1, length or 1]) →
# the same shape, turned by its position: what rotary encodings do.
Rotate = Callable[[jax.Array, jax.Array], jax.Array]


@dataclasses.dataclass(frozen=True)
class PositionKind:
    """A way to tell positions apart; the paper's are added to the embeddings (3.5).

    Attributes:
      encoding: config → the module (positions, length) → what is added to embeddings;
        None where nothing is.
      rotate: config → what happens to queries and keys of self-attention; None where
        nothing does.
      longest_length: config → the longest row in tokens; None where there is no limit.
      check: config → nothing; refuses sizes that do not go with it.
    """

    encoding: Callable[[Any], nn.Module] | None = None
    rotate: Callable[[Any], Rotate] | None = None
    longest_length: Callable[[Any], int | None] = lambda config: None
    check: Callable[[Any], None] = lambda config: None


def _check_sinusoids(config: Any) -> None:
    if config.d_model % 2:
        raise UserError(
            f"d_model={config.d_model} is odd, but sinusoids come in pairs. Use an "
            "even d_model or positions=learned."
        )


# `config.positions` → how positions are told apart.
POSITIONS = {
    "none": PositionKind(),
    "sinusoidal": PositionKind(
        encoding=lambda config: SinusoidalPositions(
            config.d_model, config.sinusoid_layout
        ),
        check=_check_sinusoids,
    ),
    "learned": PositionKind(
        encoding=lambda config: LearnedPositions(config.d_model, config.max_positions),
        longest_length=lambda config: config.max_positions,
    ),
}
