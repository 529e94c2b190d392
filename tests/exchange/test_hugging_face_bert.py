import json

import jax
import numpy as np
import pytest

from tests.models.test_bert import batch, build
from transformer_jax.errors import UserError
from transformer_jax.exchange.hugging_face_bert import (
    params_from_tensors,
    read_directory,
    tensors_from_params,
    write_directory,
)
from transformer_jax.models.bert import Bert


@pytest.fixture
def written(tmp_path):
    """A directory with a tiny model, and the model and parameters that it holds."""
    pytest.importorskip("safetensors")
    model, params = build(vocab_multiple=8)
    write_directory(tmp_path / "bert", params, model.config)
    return tmp_path / "bert", model, params


def _assert_equal(found, expected):
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def test_what_was_written_is_read_again_bit_for_bit(written):
    directory, model, params = written
    config, found = read_directory(directory, vocab_multiple=8)
    assert config == model.config
    rows = model.config.vocab_size
    expected = jax.tree.map(np.copy, params)
    # Rows of no piece are not written.
    expected["token_embedding"]["embedding"][rows:] = 0
    expected["token_prediction"]["bias"][rows:] = 0
    _assert_equal(found, expected)


# Worked out by hand: Hugging Face's dense layers hold [out, in]. The query of head 1
# at depth 2 is row 6 there, heads being 4 wide.
def test_kernels_lie_as_in_torch():
    model, params = build()
    tensors = tensors_from_params(params, model.config)
    layer, prefix = params["encoder"]["layer_1"], "bert.encoder.layer.1."
    query = tensors[prefix + "attention.self.query.weight"]
    output = tensors[prefix + "attention.output.dense.weight"]
    kernels = layer["self_attention"]
    np.testing.assert_array_equal(query[6], kernels["query"]["kernel"][:, 1, 2])
    np.testing.assert_array_equal(output[:, 6], kernels["output"]["kernel"][1, 2])
    bias = tensors[prefix + "attention.self.query.bias"]
    assert bias[6] == kernels["query"]["bias"][1, 2]
    inner = tensors[prefix + "intermediate.dense.weight"]
    assert inner.shape == (20, 12)


def test_an_encoder_alone_by_its_shorter_names_of_old_is_read_without_heads():
    model, params = build()
    tensors = {
        name.removeprefix("bert.")
        .replace("LayerNorm.weight", "LayerNorm.gamma")
        .replace("LayerNorm.bias", "LayerNorm.beta"): values
        for name, values in tensors_from_params(params, model.config).items()
        if name.startswith("bert.")
    }
    tensors["embeddings.position_ids"] = np.arange(17)[None]
    found = params_from_tensors(tensors, model.config)
    heads = {"token_prediction", "next_sentence"}
    _assert_equal(found, {k: v for k, v in params.items() if k not in heads})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bert.encoder.layer.1.output.dense.bias": None}, "lack .*layer.1.output"),
        ({"bert.embeddings.word_embeddings.weight": np.ones((3, 5))}, "15 values"),
        ({"bert.decoder.weight": np.ones(3)}, "hold bert.decoder.weight"),
    ],
)
def test_weights_of_something_else_are_refused(change, said):
    model, params = build()
    tensors = tensors_from_params(params, model.config) | change
    tensors = {name: values for name, values in tensors.items() if values is not None}
    with pytest.raises(UserError, match=said):
        params_from_tensors(tensors, model.config)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "roberta"}, "model_type 'roberta'"),
        ({"hidden_act": "gelu_new"}, "gelu_new"),
        ({"hidden_size": None}, "lacks hidden_size"),
    ],
)
def test_sizes_of_something_else_are_refused(written, change, said):
    path = written[0] / "config.json"
    fields = json.loads(path.read_text()) | change
    fields = {name: value for name, value in fields.items() if value is not None}
    path.write_text(json.dumps(fields))
    with pytest.raises(UserError, match=said):
        read_directory(written[0])


def test_directories_without_a_model_are_refused(written):
    (written[0] / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(UserError, match=r"Cannot read .*model.safetensors"):
        read_directory(written[0])
    (written[0] / "model.safetensors").unlink()
    with pytest.raises(UserError, match="save_pretrained"):
        read_directory(written[0])
    (written[0] / "config.json").write_text("[]")
    with pytest.raises(UserError, match="holds no fields"):
        read_directory(written[0])
    with pytest.raises(UserError, match="Cannot read"):
        read_directory(written[0] / "nowhere")


def test_transformers_computes_the_same_from_the_same_weights(written):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    directory, model, params = written
    theirs = transformers.BertForPreTraining.from_pretrained(directory).eval()
    inputs = batch()
    with torch.no_grad():
        output = theirs(
            torch.tensor(inputs["tokens"]),
            attention_mask=torch.tensor(inputs["segments"]),
            token_type_ids=torch.tensor(inputs["token_types"]),
            output_hidden_states=True,
        )
    x = model.apply(
        {"params": params},
        *(inputs.pop("tokens"),),
        segments=inputs["segments"],
        token_types=inputs["token_types"],
        method=Bert.encode,
    )
    is_real = inputs["segments"] != 0
    expected = output.hidden_states[-1].numpy()
    np.testing.assert_allclose(x[is_real], expected[is_real], atol=1e-4)
    logits, is_next = model.apply({"params": params}, **batch())
    places = inputs["masked_places"][..., None]
    expected = np.take_along_axis(output.prediction_logits.numpy(), places, axis=1)
    np.testing.assert_allclose(
        logits[..., : model.config.vocab_size], expected, atol=1e-4
    )
    is_next_of_theirs = output.seq_relationship_logits.numpy()
    np.testing.assert_allclose(is_next, is_next_of_theirs, atol=1e-4)
