"""Linear maps, feed-forward, residual connection (Sections 3.1, 3.3, 5.4)."""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.norms import make_norm
from transformer_jax.models.parameters import parameter

NormPosition = Literal["post", "pre"]

# `config.activation` → an elementwise function.
ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": jax.nn.relu,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "swish": jax.nn.silu,
}


def flat_product(
    x: jax.Array, kernel: jax.Array, num_in: int, dtype: DTypeLike
) -> jax.Array:
    """Multiply the last axes of `x` with the first ones of `kernel`, as two matrices.

    XLA's backward pass on CPUs takes half the time with one axis for all positions
    instead of batch and length.

    Args:
      x: [..., *in_sizes].
      kernel: float32 [*in_sizes, *out_sizes].
      num_in: how many axes go in.
      dtype: what to multiply in, and of the result; accelerators add up in float32.

    Returns:
      [..., *out_sizes] in `dtype`.
    """
    leading, in_sizes = x.shape[:-num_in], x.shape[-num_in:]
    fan_in = math.prod(in_sizes)
    matrices = x.astype(dtype).reshape(-1, fan_in), kernel.reshape(fan_in, -1)
    is_narrow = jnp.dtype(dtype) != kernel.dtype
    product = _narrow_product(*matrices) if is_narrow else jnp.dot(*matrices)
    return product.reshape(*leading, *kernel.shape[num_in:])


@jax.custom_vjp
def _narrow_product(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Multiply [rows, in] by a wider [in, out], all in the type of `x`.

    Left to itself, the gradient of the kernel would be rounded before it is summed over
    devices and micro-batches. Here it is a product of narrow factors with a wide sum.
    """
    return _narrow_forward(x, kernel)[0]


# Holds the product itself: `jax.checkpoint` does not look for it in a call by name.
def _narrow_forward(
    x: jax.Array, kernel: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return jnp.dot(x, kernel.astype(x.dtype)), (x, kernel)


def _narrow_backward(
    factors: tuple[jax.Array, jax.Array], cotangent: jax.Array
) -> tuple[jax.Array, jax.Array]:
    x, kernel = factors
    of_x = jnp.dot(cotangent, kernel.astype(x.dtype).T)
    of_kernel = jnp.dot(x.T, cotangent, preferred_element_type=kernel.dtype)
    return of_x, of_kernel


_narrow_product.defvjp(_narrow_forward, _narrow_backward)


class Linear(nn.Module):
    """A linear map between groups of axes, such as d_model to (heads, depth).

    Attributes:
      in_sizes: sizes of the axes that go in: the last ones of the input.
      out_sizes: sizes of the axes that come out.
      in_axes: logical names of the axes that go in.
      out_axes: logical names of the axes that come out.
      use_bias: whether to add a bias.
      dtype: what to compute in.
      init_stddev: of the kernel at the start; None: by its fans.
    """

    in_sizes: tuple[int, ...]
    out_sizes: tuple[int, ...]
    in_axes: tuple[str, ...]
    out_axes: tuple[str, ...]
    use_bias: bool = False
    dtype: DTypeLike = jnp.float32
    init_stddev: float | None = None

    def setup(self) -> None:
        num_in, num_out = len(self.in_sizes), len(self.out_sizes)
        if self.init_stddev is not None:
            init = nn.initializers.truncated_normal(self.init_stddev)
        else:
            # The paper is silent; as in tensor2tensor, each matrix by its own fans.
            init = nn.initializers.variance_scaling(
                1.0,
                "fan_avg",
                "uniform",
                in_axis=tuple(range(num_in)),
                out_axis=tuple(range(num_in, num_in + num_out)),
            )
        axes = self.in_axes + self.out_axes
        shape = self.in_sizes + self.out_sizes
        self.kernel = parameter(self, "kernel", init, axes, shape)
        if self.use_bias:
            zeros = nn.initializers.zeros
            self.bias = parameter(self, "bias", zeros, self.out_axes, self.out_sizes)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Map `x` [..., *in_sizes] to [..., *out_sizes]."""
        return joint_product(x, [self])[0]


def joint_product(x: jax.Array, maps: Sequence[Linear]) -> list[jax.Array]:
    """Apply several maps to one input as a single, wider product.

    Args:
      x: [..., *in_sizes].
      maps: their outputs differ in nothing but the size of the last axis.

    Returns:
      [..., *out_sizes] of each.
    """
    first = maps[0]
    # Along the last axis, so that heads stay whole on the device that has them.
    kernel = _side_by_side([one.kernel for one in maps])
    y = flat_product(x, kernel, len(first.in_sizes), first.dtype)
    if first.use_bias:
        bias = _side_by_side([one.bias for one in maps])
        # Added in float32, so that its gradient, a sum over the batch, is float32.
        y = y + bias.reshape(*(1,) * (y.ndim - bias.ndim), *bias.shape)
    y = y.astype(first.dtype)
    ends = itertools.accumulate(one.out_sizes[-1] for one in maps)
    return jnp.split(y, list(ends)[:-1], axis=-1)


def _side_by_side(arrays: Sequence[jax.Array]) -> jax.Array:
    return arrays[0] if len(arrays) == 1 else jnp.concatenate(arrays, axis=-1)


class FeedForward(nn.Module):
    """FFN(x) = activation(x W1 + b1) W2 + b2, at each position alike (Section 3.3).

    Attributes:
      d_ff: inner width.
      activation: max(0, x) in the paper.
      dropout_rate: after the activation; not in the paper, tensor2tensor has it.
      dtype: what to compute in.
      init_stddev: see `Linear`.
    """

    d_ff: int
    activation: str = "relu"
    dropout_rate: float = 0.0
    dtype: DTypeLike = jnp.float32
    init_stddev: float | None = None

    @nn.compact
    def __call__(self, x: jax.Array, dropout: DropoutBits | None = None) -> jax.Array:
        """Map `x` [batch, length, d_model] to the same shape."""
        d_model = x.shape[-1]
        sizes, axes = ((d_model,), (self.d_ff,)), (("d_model",), ("d_ff",))
        linear = functools.partial(
            Linear, use_bias=True, dtype=self.dtype, init_stddev=self.init_stddev
        )
        expand = linear(*sizes, *axes, name="expand")
        contract = linear(*sizes[::-1], *axes[::-1], name="contract")
        inner = ACTIVATIONS[self.activation](expand(x))
        inner = Dropout(self.dropout_rate, name="dropout")(inner, dropout)
        return contract(inner)


class Residual(nn.Module):
    """Add a sub-layer's output to its input, with dropout and norm (3.1, 5.4).

    Attributes:
      dropout_rate: P_drop, on the sub-layer's output.
      norm_position: "post" is the paper's LayerNorm(x + Dropout(Sublayer(x))); "pre" is
        x + Dropout(Sublayer(LayerNorm(x))).
      norm_kind: a name in `NORMS`.
      norm_epsilon: of the norm.
      dtype: what to compute in.
    """

    dropout_rate: float
    norm_position: NormPosition = "post"
    norm_kind: str = "layer"
    norm_epsilon: float = 1e-6
    dtype: DTypeLike = jnp.float32

    def setup(self) -> None:
        self.norm = make_norm(self.norm_kind, self.norm_epsilon, self.dtype)
        self.dropout = Dropout(self.dropout_rate)

    def __call__(
        self,
        x: jax.Array,
        sublayer: Callable[[jax.Array], jax.Array],
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Apply `sublayer` to `x` [batch, length, d_model], and keep its shape."""
        return self.leave(x, sublayer(self.enter(x)), dropout)

    def enter(self, x: jax.Array) -> jax.Array:
        """Return what the sub-layer gets to see of `x`."""
        return self.norm(x) if self.norm_position == "pre" else x

    def leave(
        self, x: jax.Array, output: jax.Array, dropout: DropoutBits | None = None
    ) -> jax.Array:
        """Add the sub-layer's output to `x`."""
        x = x + self.dropout(output, dropout)
        return x if self.norm_position == "pre" else self.norm(x)
