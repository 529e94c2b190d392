"""Counter-based dropout, the same on any mesh and in any micro-batch (Section 5.4).

A bit is a pure function of (step, place in the network, global row, index in the row).
So the same elements are dropped however the rows are spread over devices or slices, and
no generator state has to travel through the network.
"""

import dataclasses
import zlib

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
from jax import lax

_GOLDEN_RATIO = 0x9E3779B9


@flax.struct.dataclass
class DropoutBits:
    """The source of randomness of one forward pass.

    Attributes:
      seed: uint32 scalar, another one in every step.
      rows: [batch] uint32, the number of each row within the global batch.
      outer: paths of the layers, one of which the network is inside of.
      number: int32 scalar, which of them.
    """

    seed: jax.Array
    rows: jax.Array
    outer: tuple[tuple[str, ...], ...] = flax.struct.field(
        pytree_node=False, default=((),)
    )
    number: jax.Array | int = 0

    def inside(
        self, layers: tuple[tuple[str, ...], ...], number: jax.Array
    ) -> "DropoutBits":
        """Return the bits of one of several layers that share one program."""
        return dataclasses.replace(self, outer=layers, number=number)

    def site(self, path: tuple[str, ...]) -> jax.Array:
        """Return the number of the place with this path, uint32 scalar."""
        sites = [zlib.crc32("/".join(outer + path).encode()) for outer in self.outer]
        return jnp.array(sites, jnp.uint32)[self.number]


def dropout_bits(rng: jax.Array, num_rows: int, first_row: int = 0) -> DropoutBits:
    """Return the randomness of one step.

    Args:
      rng: a random key, another one in every step.
      num_rows: rows of the batch.
      first_row: number of the first of them within the global batch.

    Returns:
      Bits with `rows` [num_rows].
    """
    seed = jax.random.bits(rng, dtype=jnp.uint32)
    return DropoutBits(
        seed, jnp.arange(first_row, first_row + num_rows, dtype=jnp.uint32)
    )


def _mix(x: jax.Array) -> jax.Array:
    """Scatter uint32 numbers of any shape: each input bit flips each output bit evenly.

    The constants are those of Chris Wellons's lowbias32.
    """
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)


def _index_in_row(shape: tuple[int, ...]) -> jax.Array:
    """Number the elements of each row: uint32 [1, *shape[1:]]."""
    index = jnp.zeros((1,) * len(shape), jnp.uint32)
    stride = 1
    for axis in reversed(range(1, len(shape))):
        along = [1] * len(shape)
        along[axis] = shape[axis]
        steps = lax.broadcasted_iota(jnp.uint32, along, axis)
        index = index + steps * jnp.uint32(stride % 2**32)
        stride *= shape[axis]
    return index


def random_bits(
    bits: DropoutBits, site: jax.Array, shape: tuple[int, ...]
) -> jax.Array:
    """Return 32 random bits for each element of an array.

    Args:
      bits: the step's randomness, `rows` [batch].
      site: uint32 scalar, the number of the place in the network.
      shape: (batch, ...).

    Returns:
      uint32 array of that shape.
    """
    start = _mix(_mix(bits.seed) + site)
    per_row = _mix(start + bits.rows * jnp.uint32(_GOLDEN_RATIO))
    per_row = per_row.reshape(-1, *(1,) * (len(shape) - 1))
    # Each row counts with a stride of its own (odd, so that no number comes twice):
    # with one stride for all, two rows could be shifted copies of each other.
    stride = _mix(per_row ^ jnp.uint32(_GOLDEN_RATIO)) | jnp.uint32(1)
    return _mix(per_row + stride * _index_in_row(shape))


class Dropout(nn.Module):
    """Zero a share of the elements and scale up the others (Section 5.4).

    Attributes:
      rate: the share, P_drop.
      is_variational: whether all positions of a row drop the same features (Gal and
        Ghahramani 2016); not in the paper.
    """

    rate: float
    is_variational: bool = False

    def __call__(self, x: jax.Array, bits: DropoutBits | None) -> jax.Array:
        """Drop elements of `x`.

        Args:
          x: [batch, ...]; [batch, length, features] if positions drop alike.
          bits: randomness with `rows` [batch]; None returns `x` as it is.

        Returns:
          Array of the shape and type of `x`.
        """
        if bits is None or self.rate == 0.0:
            return x
        if bits.rows.shape != x.shape[:1]:
            raise ValueError(
                f"dropout needs one row number for each row, got {bits.rows.shape} for "
                f"an array of shape {x.shape}. Slice DropoutBits.rows as you slice the "
                "batch."
            )
        site = bits.site(self.path)
        threshold = jnp.uint32(min(round(self.rate * 2**32), 2**32 - 1))
        shape = (len(x), 1, *x.shape[2:]) if self.is_variational else x.shape
        is_kept = random_bits(bits, site, shape) >= threshold
        return jnp.where(is_kept, x * (1.0 / (1.0 - self.rate)), jnp.zeros_like(x))
