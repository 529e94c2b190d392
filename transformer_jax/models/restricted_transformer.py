"""A Transformer whose self-attention sees a neighbourhood alone (Section 4).

Each position looks at the r around it, itself at their centre; what is further away is
reached through several layers. All else, attention to the memory included, is the
`Transformer`'s.
"""

import dataclasses

from transformer_jax.errors import UserError
from transformer_jax.fields import fixed
from transformer_jax.models.configs import TransformerConfig


@dataclasses.dataclass(frozen=True)
class RestrictedTransformerConfig(TransformerConfig):
    """Sizes and variants of a Transformer, and of the neighbourhood."""

    # The paper names no size.
    window: int = fixed(
        9,
        "r, positions that self-attention sees around its own, which is one of them: "
        "odd; the decoder's sees those behind it and itself, (r + 1) / 2",
        least=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window % 2 == 0:
            raise UserError(
                f"window={self.window} is even, but a position stands at the centre of "
                f"its window. Use {self.window - 1} or {self.window + 1}."
            )

    @property
    def reach(self) -> int:
        """How far self-attention looks to either side."""
        return self.window // 2
