"""What every translation model offers: the contract that `MODELS` rests on.

A model is a Flax module; methods are handed to `apply` as functions:
`model.apply({"params": params}, tokens, cache, method=model.decode_step)`. One test
tries the contract on every model that there is (tests/models/test_interface.py).
"""

from collections.abc import Callable, Hashable
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from transformer_jax.models.dropout import DropoutBits

_ROW = jax.ShapeDtypeStruct((1, 1), jnp.int32)
# What a translation model is called with, in the least shape: enough to make its
# parameters from.
TRANSLATION_INPUTS = {
    "source_tokens": _ROW,
    "decoder_input_tokens": _ROW,
    "source_segments": _ROW,
    "target_segments": _ROW,
}


class TranslationConfig(Protocol):
    """Sizes of a model, a frozen dataclass; it declares what `config.model` can set."""

    @property
    def source_vocab_size(self) -> int:
        """Number of pieces of the source vocabulary."""
        ...

    @property
    def target_vocab_size(self) -> int:
        """Number of pieces of the target vocabulary, V in the losses."""
        ...

    @property
    def d_model(self) -> int:
        """The width that the paper's learning rate goes by (Section 5.3)."""
        ...

    @property
    def longest_length(self) -> int | None:
        """Pieces of the longest source or target; None where there is no limit."""
        ...


class Cache(Protocol):
    """What decoding remembers between two steps: a pytree, made by `init_cache`.

    Beside these two parts it may hold scalars, such as the number of tokens consumed.
    """

    @property
    def sentence(self) -> Any:
        """Of each sentence alone: every leaf [batch, ...]."""
        ...

    @property
    def hypothesis(self) -> Any:
        """Of each hypothesis: every leaf [batch, num_hypotheses, ...]."""
        ...


class TranslationModel(Hashable, Protocol):
    """An encoder and a decoder.

    Segments number the sentences that share a row from 1 and are 0 on padding;
    positions count from 0 inside each sentence. `dropout` None means a deterministic
    pass. Padding, and the other sentences of a row or a batch, change nothing.
    """

    @property
    def config(self) -> TranslationConfig:
        """The sizes."""
        ...

    @property
    def layer_stacks(self) -> tuple[str, ...]:
        """Names of the parts that go by `models.layer_scan.apply_layers`; maybe none.

        Such a part takes parameters by layer and stacked.
        """
        ...

    @property
    def apply(self) -> Callable[..., Any]:
        """Flax's: call a method with parameters."""
        ...

    @property
    def lazy_init(self) -> Callable[..., Any]:
        """Flax's: make parameters from shapes."""
        ...

    def __call__(
        self,
        source_tokens: jax.Array,
        decoder_input_tokens: jax.Array,
        *,
        source_segments: jax.Array,
        target_segments: jax.Array,
        source_positions: jax.Array | None = None,
        target_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Encode and decode: [batch, target_length, vocab_width] logits."""
        ...

    def encode(
        self,
        source_tokens: jax.Array,
        *,
        source_segments: jax.Array,
        source_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> Any:
        """Turn [batch, source_length] tokens into what the decoder looks at.

        Every leaf of it is [batch, ...].
        """
        ...

    def decode(
        self,
        decoder_input_tokens: jax.Array,
        memory: Any,
        *,
        source_segments: jax.Array,
        target_segments: jax.Array,
        target_positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Score the next piece after each target position.

        Returns:
          [batch, target_length, vocab_width]; the lowest finite number at
          padding rows of the vocabulary.
        """
        ...

    def init_cache(
        self,
        memory: Any,
        *,
        source_segments: jax.Array,
        num_hypotheses: int,
        max_length: int,
    ) -> Cache:
        """Prepare step-by-step decoding of one sentence in each row.

        Args:
          memory: from `encode`.
          source_segments: [batch, source_length].
          num_hypotheses: kept for each sentence.
          max_length: tokens that there is room for; `grow_cache` makes more.
        """
        ...

    def decode_step(self, tokens: jax.Array, cache: Any) -> tuple[jax.Array, Any]:
        """Do `decode` for the next position of every hypothesis.

        Args:
          tokens: [batch, num_hypotheses] int32, the decoder's input there.
          cache: what came before; it has room for one more token.

        Returns:
          logits: float32 [batch, num_hypotheses, vocab_width].
          cache: with these tokens consumed.
        """
        ...

    def grow_cache(self, cache: Any, max_length: int) -> Any:
        """Make room for hypotheses of `max_length` tokens; needs no parameters.

        What of a cache has a length is the model's own knowledge: a recurrent state has
        nothing to grow.
        """
        ...

    def forward_flops(self, source_length: float, target_length: float) -> float:
        """Count the matrix products of one sentence pair; needs no parameters.

        Args:
          source_length: pieces of the source, EOS counted.
          target_length: pieces of the target, EOS counted.

        Returns:
          Floating point operations, two for each multiplication and addition.
        """
        ...
