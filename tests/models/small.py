"""A small model, random parameters and a padded batch, for the tests beside it."""

import flax.linen as nn
import jax
import numpy as np

from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.parameters import init_params
from transformer_jax.models.restricted_transformer import RestrictedTransformerConfig
from transformer_jax.models.transformer import Transformer

VOCAB_SIZE = 31


# Every size differs; d_k and d_v do not follow from d_model.
SIZES = {
    "num_encoder_layers": 1,
    "num_decoder_layers": 2,
    "d_model": 12,
    "d_ff": 20,
    "num_heads": 3,
    "d_k": 5,
    "d_v": 7,
    "max_positions": 16,
}


def config(**changes):
    """Return the sizes above, with changes; `window` restricts self-attention."""
    vocabulary = {"source_vocab_size": VOCAB_SIZE, "target_vocab_size": VOCAB_SIZE}
    is_restricted = "window" in changes
    kind = RestrictedTransformerConfig if is_restricted else TransformerConfig
    return kind(**(vocabulary | SIZES | changes))


def random_like(init, seed=0):
    """Plain float32 arrays in place of what `init(rng)` returns, biases random too."""
    rng = np.random.default_rng(seed)
    shapes = nn.unbox(jax.eval_shape(init, jax.random.key(0)))
    return jax.tree.map(
        lambda leaf: rng.normal(0.1, 0.3, leaf.shape).astype(np.float32), shapes
    )


def random_params(model, seed=0):
    """Random parameters of a whole model."""
    return random_like(lambda rng: init_params(model, rng), seed)


def build(seed=0, **changes):
    """Return a model and its random parameters."""
    model = Transformer(config(**changes))
    return model, random_params(model, seed)


def run(model, params, batch, method="__call__", **kwargs):
    """Apply the model to the arrays of a batch."""
    return model.apply({"params": params}, **batch, method=method, **kwargs)


def batch(seed=0):
    """Two rows of 7 source and 5 target positions; the second row has padding."""
    rng = np.random.default_rng(seed)
    return {
        "source_tokens": rng.integers(4, VOCAB_SIZE, (2, 7)),
        "decoder_input_tokens": rng.integers(4, VOCAB_SIZE, (2, 5)),
        "source_segments": np.array([[1] * 7, [1] * 4 + [0] * 3]),
        "target_segments": np.array([[1] * 5, [1] * 3 + [0] * 2]),
    }
