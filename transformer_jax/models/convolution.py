"""Convolution over the positions of a sentence, by whole rows and step by step.

It is one product over the inputs of a window, laid side by side: that keeps sentences
that share a row apart, and takes no longer on CPUs than XLA's own convolution.
"""

from collections.abc import Iterable
from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from transformer_jax.errors import UserError
from transformer_jax.models.layers import flat_product
from transformer_jax.models.parameters import parameter
from transformer_jax.models.segments import shifted


@flax.struct.dataclass
class Cache:
    """What decoding with convolutions remembers between two steps.

    Attributes:
      sentence: `memory`, what the encoder gave, and `segments` of the source.
      hypothesis: for each layer the last inputs of its convolution [batch,
        num_hypotheses, (kernel_width - 1) * dilation, in_channels].
      index: int32 scalar, the number of tokens already consumed.
    """

    sentence: dict[str, Any]
    hypothesis: tuple[jax.Array, ...]
    index: jax.Array

    @classmethod
    def start(
        cls,
        memory: Any,
        source_segments: jax.Array,
        num_hypotheses: int,
        convolutions: Iterable["Convolution"],
    ) -> "Cache":
        """Return what is remembered before the first step, of a decoder's layers."""
        shape = len(source_segments), num_hypotheses
        return cls(
            sentence={"memory": memory, "segments": source_segments},
            hypothesis=tuple(each.empty_past(*shape) for each in convolutions),
            index=jnp.zeros((), jnp.int32),
        )


def check_kernel_width(kernel_width: int) -> None:
    """Refuse windows that cannot lie around a position.

    Raises:
      UserError: naming the field, what was expected and what to do.
    """
    if kernel_width % 2 == 0:
        raise UserError(
            f"kernel_width={kernel_width} is even, but the encoder's windows reach as "
            "far to both sides. Use an odd number."
        )


class Convolution(nn.Module):
    """Map at each position what stands in a window around it, or before it.

    Windows end at a sentence's border: behind it are zeros. One of width 1 is a linear
    map of each position.

    Attributes:
      in_channels: width of what goes in.
      out_channels: width of what comes out.
      kernel_width: positions of a window; odd, unless it is causal.
      dilation: distance of two neighbours in a window.
      is_causal: whether a window ends at its position, instead of lying around it.
      initial_variance: of what comes out, at first, where the input's is 1.
      has_weight_norm: whether direction and length of each output's weights are
        parameters of their own, g v / |v| (Salimans and Kingma 2016).
      dtype: what to compute in.
    """

    in_channels: int
    out_channels: int
    kernel_width: int = 1
    dilation: int = 1
    is_causal: bool = False
    initial_variance: float = 1.0
    has_weight_norm: bool = False
    dtype: DTypeLike = jnp.float32

    def setup(self) -> None:
        shape = (self.kernel_width, self.in_channels, self.out_channels)
        axes = ("kernel_width", "in_channels", "out_channels")
        init = nn.initializers.variance_scaling(
            self.initial_variance, "fan_in", "normal", in_axis=(0, 1), out_axis=2
        )
        self.kernel = parameter(self, "kernel", init, axes, shape)
        zeros = nn.initializers.zeros
        self.bias = parameter(self, "bias", zeros, axes[2:], shape[2:])
        if self.has_weight_norm:
            # The length that v has: at first nothing is changed.
            self.scale = parameter(
                self, "scale", lambda *_: self._lengths(), axes[2:], shape[2:]
            )

    def __call__(self, x: jax.Array, segments: jax.Array | None = None) -> jax.Array:
        """Map whole rows.

        Args:
          x: [batch, length, in_channels].
          segments: [batch, length], 0 on padding; a width of 1 needs none.

        Returns:
          [batch, length, out_channels].
        """
        if segments is None:
            if self.kernel_width > 1:
                raise ValueError(
                    f"a window of {self.kernel_width} positions needs segments, which "
                    "say where sentences end"
                )
            return self._product(x)
        x = x.astype(self.dtype)
        num_before = self.kernel_width - 1 if self.is_causal else self.kernel_width // 2
        window = [
            shifted(x, segments, (num_before - place) * self.dilation)
            for place in range(self.kernel_width)
        ]
        return self._product(jnp.concatenate(window, axis=-1))

    def step(self, x: jax.Array, past: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Map the newest position of every hypothesis; the window is a causal one.

        Args:
          x: [batch, num_hypotheses, in_channels].
          past: what stands before it, [batch, num_hypotheses, (kernel_width - 1) *
            dilation, in_channels].

        Returns:
          [batch, num_hypotheses, out_channels], and the past of the next position.
        """
        inputs = jnp.concatenate([past, x[:, :, None].astype(past.dtype)], axis=2)
        window = inputs[:, :, :: self.dilation]  # [b, n, kernel_width, in_channels]
        return self._product(window.reshape(*x.shape[:2], -1)), inputs[:, :, 1:]

    @nn.nowrap
    def empty_past(self, batch: int, num_hypotheses: int) -> jax.Array:
        """Return what stands before the first position: zeros."""
        length = (self.kernel_width - 1) * self.dilation
        shape = (batch, num_hypotheses, length, self.in_channels)
        return jnp.zeros(shape, self.dtype)

    def _lengths(self) -> jax.Array:
        """Return the length of each output's weights: [out_channels]."""
        return jnp.sqrt(jnp.square(self.kernel).sum(axis=(0, 1)))

    def _product(self, windows: jax.Array) -> jax.Array:
        """Map [batch, length, kernel_width * in_channels] to `out_channels`."""
        kernel = self.kernel.reshape(-1, self.out_channels)
        if self.has_weight_norm:
            kernel = kernel * (self.scale / self._lengths())[None]
        y = flat_product(windows, kernel, 1, self.dtype)
        # Added in float32, so that its gradient, a sum over the batch, is float32.
        return (y + self.bias[None, None]).astype(self.dtype)
