"""The layers of Table 1, as the models here have them, to be measured."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from transformer_jax.models.attention import MultiHeadAttention
from transformer_jax.models.convolution import Convolution
from transformer_jax.models.masks import Visibility
from transformer_jax.models.recurrence import RecurrentLayer
from transformer_jax.models.restricted_attention import count_scores
from transformer_jax.reports.dependencies import longest_path

NUM_HEADS = 4
# k of the convolutions: ConvS2S's.
KERNEL_WIDTH = 3
# Restricted self-attention sees so far to either side: r = 2 * 8 + 1 positions.
REACH = 8


@dataclasses.dataclass(frozen=True)
class LayerType:
    """A layer that maps [1, n, d] to the same shape.

    Attributes:
      paper_row: its row of the paper's table.
      make: (d, number of the layer from below) → its module.
      arguments: x [1, n, d] → what the module is called with.
      products: (n, d) → operations of its matrix products, by count.
      projections: those among them that the paper's formula leaves out.
      cheaper_below: d → the n below which self-attention is cheaper, by the paper's
        formulas.
    """

    paper_row: str
    make: Callable[[int, int], nn.Module]
    arguments: Callable[[jax.Array], tuple[Any, ...]]
    products: Callable[[int, int], float]
    projections: Callable[[int, int], float] = lambda n, d: 0
    cheaper_below: Callable[[int], int] | None = None

    def init(self, rng: jax.Array, width: int, depth: int = 0) -> Any:
        """Return new variables of the layer number `depth`."""
        x = jnp.zeros((1, 1, width))
        return self.make(width, depth).init(rng, *self.arguments(x))

    def apply(self, variables: Any, x: jax.Array, depth: int = 0) -> jax.Array:
        """Map [1, n, d]."""
        module = self.make(x.shape[-1], depth)
        y = jnp.asarray(module.apply(variables, *self.arguments(x)))
        # Of a recurrent layer's states the first part is what other layers see.
        return y[..., 0, :] if y.ndim > x.ndim else y

    def longest_path(self, length: int, width: int) -> int | None:
        """Count what a signal passes on its way from the first position to the last.

        That is layers; of a recurrent one, the steps within it.
        """
        rng, x_rng = jax.random.split(jax.random.key(0))
        hops = itertools.islice(self._hops(rng, width), length)
        return longest_path(hops, jax.random.normal(x_rng, (length, width)))

    def _hops(
        self, rng: jax.Array, width: int
    ) -> Iterator[Callable[[jax.Array], jax.Array]]:
        """Yield what takes a signal further, [n, d] to the same shape, from below."""
        variables, module = self.init(rng, width), self.make(width, 0)
        if isinstance(module, RecurrentLayer):

            def step(states: jax.Array) -> jax.Array:
                before = jnp.pad(states, ((1, 0), (0, 0)))[None, :-1, None]
                shape = (1, len(states), module.num_parts, width)
                states_before = jnp.broadcast_to(before, shape)
                x = jnp.zeros((1, *states.shape))
                after = module.apply(variables, x, states_before, method="step")
                return jnp.asarray(after)[0, :, 0]

            yield from itertools.repeat(step)

        def layer(depth: int) -> Callable[[jax.Array], jax.Array]:
            return lambda x: self.apply(variables, x[None], depth)[0]

        if module == self.make(width, 1):  # All are alike, and compiled once.
            yield from itertools.repeat(layer(0))
        yield from map(layer, itertools.count())


def _attention(width: int, depth: int) -> nn.Module:
    depth_of_head = width // NUM_HEADS
    return MultiHeadAttention(width, NUM_HEADS, depth_of_head, depth_of_head)


def _segments(x: jax.Array) -> jax.Array:
    return jnp.ones(x.shape[:2], int)


def _near(x: jax.Array) -> Visibility:
    return Visibility(_segments(x), _segments(x), reach=REACH)


def _projections(n: int, d: int) -> float:
    return 8 * n * d**2


def _convolution(dilation: int) -> LayerType:
    """Return causal convolutions, so many times as wide from layer to layer."""
    return LayerType(
        "convolutional",
        lambda width, depth: Convolution(
            width, width, KERNEL_WIDTH, dilation**depth, is_causal=True
        ),
        lambda x: (x, _segments(x)),
        lambda n, d: 2 * KERNEL_WIDTH * n * d**2,
        cheaper_below=lambda d: KERNEL_WIDTH * d,
    )


LAYER_TYPES = {
    "self-attention": LayerType(
        "self-attention",
        _attention,
        lambda x: (x, None),
        lambda n, d: _projections(n, d) + 4 * n**2 * d,
        _projections,
    ),
    "recurrent (LSTM)": LayerType(
        "recurrent",
        lambda width, depth: RecurrentLayer("lstm", width, width, 0.0),
        lambda x: (x, _segments(x), None),
        lambda n, d: 16 * n * d**2,
        cheaper_below=lambda d: d,
    ),
    "convolutional, contiguous": _convolution(1),
    "convolutional, dilated": _convolution(KERNEL_WIDTH),
    "self-attention, restricted": LayerType(
        "self-attention (restricted)",
        _attention,
        lambda x: (x, _near(x)),
        lambda n, d: _projections(n, d) + 4 * count_scores(n, REACH, False) * d,
        _projections,
        cheaper_below=lambda d: 2 * REACH + 1,
    ),
}
