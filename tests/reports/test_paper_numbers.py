import importlib

import pytest

from transformer_jax.reports.paper_numbers import TABLE_2, TABLE_3


@pytest.mark.parametrize("row", TABLE_3, ids=lambda row: row.row)
def test_every_row_of_table_3_is_a_config(row):
    module = importlib.import_module(f"configs.table3.{row.row}")
    config = module.get_config()
    model = config.model
    depth = model.d_model // model.num_heads
    assert (model.num_encoder_layers, model.num_decoder_layers) == (row.num_layers,) * 2
    assert (model.d_model, model.d_ff) == (row.d_model, row.d_ff)
    assert model.num_heads == row.num_heads
    assert (model.d_k or depth, model.d_v or depth) == (row.d_k, row.d_v)
    assert model.dropout_rate == row.dropout_rate
    assert model.positions == row.positions
    assert config.training.label_smoothing == row.label_smoothing
    assert config.training.num_steps == row.num_steps
    assert config.data.tfds.name == "wmt14_translate/de-en"
    assert f"{row.bleu} BLEU, {row.perplexity:.2f} perplexity" in module.__doc__


@pytest.mark.parametrize("name", ["ende_base", "ende_big", "enfr_base", "enfr_big"])
def test_every_run_of_table_2_is_a_config(name):
    pair, size = name.split("_")
    module = importlib.import_module(f"configs.wmt14_{name}")
    config = module.get_config()
    row = next(row for row in TABLE_2 if row.row == f"Transformer ({size})")
    assert str(getattr(row, f"bleu_{pair}")) in module.__doc__
    assert config.data.vocab_size == {"ende": 37_000, "enfr": 32_000}[pair]
    assert config.data.target_language == {"ende": "de", "enfr": "fr"}[pair]
    assert config.model.dropout_rate == (0.3 if name == "ende_big" else 0.1)
    assert config.checkpoints.keep_params == {"base": 5, "big": 20}[size]
    assert config.model.dtype == "bfloat16"
