"""One small Transformer for the tests that train one."""

import functools

import jax

from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.parameters import init_params
from transformer_jax.models.transformer import Transformer


@functools.cache
def tiny_model():
    """A Transformer with all kinds of dropout, for `make_batch`, and its parameters."""
    config = TransformerConfig(
        source_vocab_size=11,
        target_vocab_size=11,
        vocab_multiple=8,
        num_encoder_layers=1,
        num_decoder_layers=1,
        d_model=6,
        d_ff=10,
        num_heads=2,
        dropout_rate=0.3,
        attention_dropout_rate=0.2,
        feed_forward_dropout_rate=0.2,
    )
    model = Transformer(config)
    return model, jax.jit(lambda rng: init_params(model, rng))(jax.random.key(0))
