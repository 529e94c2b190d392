"""The models behind rows: those of Table 3, and those of runs."""

import functools
from typing import Any

from transformer_jax.config.sections import PAPER_TOKENS_PER_BATCH, PAPER_VOCAB_SIZE
from transformer_jax.costs.flops import SENTENCE_LENGTH, training_flops
from transformer_jax.data.tokenizer_file import AnyTokenizer, read_tokenizer
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.interface import TranslationModel
from transformer_jax.models.parameters import count_params, param_shapes
from transformer_jax.models.transformer import Transformer
from transformer_jax.reports import paper_numbers
from transformer_jax.reports.paper_numbers import Variation
from transformer_jax.reports.run_summary import RunSummary
from transformer_jax.runs.components import Parts, build_parts


def of_variation(row: Variation) -> Transformer:
    """Return the model of a row of Table 3, with the German vocabulary unpadded."""
    positions: Any = row.positions
    return Transformer(
        TransformerConfig(
            source_vocab_size=PAPER_VOCAB_SIZE,
            target_vocab_size=PAPER_VOCAB_SIZE,
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
    )


def of_run(run: RunSummary) -> Parts:
    """Return the model of a run, with the vocabulary of its tokenizer, and its task.

    Raises:
      UserError: if the run has no tokenizer yet.
    """
    return build_parts(run.directory.read_config(), vocab_size_of_run(run))


def vocab_size_of_run(run: RunSummary) -> int:
    """Return how many pieces a run's vocabulary has."""
    return _tokenizer_of_run(run).vocab_size


def _tokenizer_of_run(run: RunSummary) -> AnyTokenizer:
    return read_tokenizer(run.directory.tokenizer_path)


def num_params_of_run(run: RunSummary) -> int:
    """Count the parameters of a run's model."""
    parts = of_run(run)
    return count_params(param_shapes(parts.model, parts.task.inputs))


@functools.cache
def num_params(model: TranslationModel) -> int:
    """Count the parameters of a translation model, without making any."""
    return count_params(param_shapes(model))


def paper_flops(variation: str) -> float:
    """Count the training of the row of Table 3 that is called `variation`."""
    row = next(row for row in paper_numbers.TABLE_3 if row.row == variation)
    return variation_flops(row)


def variation_flops(row: Variation) -> float:
    """Count the training of a row of Table 3, on full batches (Section 5.1)."""
    num_tokens = row.num_steps * PAPER_TOKENS_PER_BATCH
    return training_flops(
        of_variation(row),
        source_tokens=num_tokens,
        target_tokens=num_tokens,
        sentence_length=SENTENCE_LENGTH,
    )
