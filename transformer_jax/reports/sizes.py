"""Architecture sizes of a row of Table 3, and of a run."""

import functools
from typing import Any

import jax

from transformer_jax.data.tokenizer import Tokenizer
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.transformer import Transformer, init_params
from transformer_jax.reports.paper_numbers import VOCAB_SIZE, Variation
from transformer_jax.reports.runs import RunSummary
from transformer_jax.runs import components


def of_variation(row: Variation) -> TransformerConfig:
    """Return the model of a row of Table 3, at V = 37 000 without padding."""
    positions: Any = row.positions
    return TransformerConfig(
        source_vocab_size=VOCAB_SIZE,
        target_vocab_size=VOCAB_SIZE,
        num_encoder_layers=row.num_layers,
        num_decoder_layers=row.num_layers,
        d_model=row.d_model,
        d_ff=row.d_ff,
        num_heads=row.num_heads,
        d_k=row.d_k,
        d_v=row.d_v,
        dropout_rate=row.dropout_rate,
        positions=positions,
    )


def of_run(run: RunSummary) -> TransformerConfig:
    """Return the model of a run, with the vocabulary of its tokenizer.

    Raises:
      UserError: if the run has no tokenizer yet.
    """
    tokenizer = Tokenizer(run.directory.tokenizer_path)
    config = run.directory.read_config()
    return components.build_model(config.model, tokenizer, tokenizer).config


@functools.cache
def count_params(config: TransformerConfig) -> int:
    """Count the parameters of the real model, without making any."""
    model = Transformer(config)
    shapes = jax.eval_shape(lambda: init_params(model, jax.random.key(0)))
    return components.count_params(shapes)
