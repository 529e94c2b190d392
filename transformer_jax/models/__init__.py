"""What the networks compute; knows nothing of data or training."""

from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.transformer import Transformer

# Every translation model: name → (module, sizes).
MODELS = {"transformer": (Transformer, TransformerConfig)}
