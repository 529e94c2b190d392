"""Sizes of the convolutional model."""

import dataclasses

from transformer_jax.fields import check_declared, fixed
from transformer_jax.models.convolution import check_kernel_width
from transformer_jax.models.vocabulary import VocabularyConfig, check_vocabulary


@dataclasses.dataclass(frozen=True)
class ConvolutionalConfig(VocabularyConfig):
    """Sizes of a ConvS2S; the defaults are those for WMT16 English-Romanian (4.2)."""

    num_encoder_layers: int = fixed(20, "blocks of the encoder", least=1)
    num_decoder_layers: int = fixed(20, "blocks of the decoder", least=1)
    d_model: int = fixed(
        512, "width of embeddings, of the encoder's output and in attention", least=1
    )
    num_channels: int = fixed(512, "width of what a block gives", least=1)
    kernel_width: int = fixed(3, "positions of a convolution's window; odd", least=1)
    dropout_rate: float = fixed(
        0.2,
        "on embeddings, the input of every convolution and the decoder's output",
        least=0,
        below=1,
    )
    max_positions: int = fixed(
        1024,
        "rows of a learned position table: the longest source or target, in pieces",
        least=1,
    )

    def __post_init__(self) -> None:
        check_declared(self)
        check_vocabulary(self)
        check_kernel_width(self.kernel_width)

    @property
    def longest_length(self) -> int:
        """Pieces of the longest source or target."""
        return self.max_positions
