"""Agreement with independent implementations; see parity/README.md."""

import pathlib

import numpy as np
import pytest

from tests.models import small
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.masks import Visibility
from transformer_jax.models.stacks import DecoderLayer, EncoderLayer
from transformer_jax.models.transformer import Transformer

FOLDER = pathlib.Path(__file__).parent / "parity"


def _load(name):
    with np.load(FOLDER / name) as file:
        arrays = {key: file[key] for key in file.files}
    return {
        key: array.astype(np.float32) if array.dtype == np.float64 else array
        for key, array in arrays.items()
    }


def _linear(weight, bias):
    return {"kernel": weight.T, "bias": bias}


def _attention(query, key, value, output, num_heads):
    """Turn four (weight, bias) pairs into the parameters of a MultiHeadAttention."""
    params = {}
    for name, (weight, bias) in {"query": query, "key": key, "value": value}.items():
        kernel = weight.T.reshape(weight.shape[1], num_heads, -1)
        params[name] = {"kernel": kernel, "bias": bias.reshape(num_heads, -1)}
    weight, bias = output
    kernel = weight.T.reshape(num_heads, -1, weight.shape[0])
    return params | {"output": {"kernel": kernel, "bias": bias}}


def _norm(weight, bias):
    return {"norm": {"scale": weight, "bias": bias}}


def _torch_layer(arrays, prefix, attentions):
    """Collect one torch layer; `attentions` maps our names to theirs."""

    def pair(name):
        return arrays[f"{prefix}/{name}.weight"], arrays[f"{prefix}/{name}.bias"]

    params = {
        "feed_forward": {
            "expand": _linear(*pair("linear1")),
            "contract": _linear(*pair("linear2")),
        }
    }
    for ours, theirs in attentions.items():
        weights = np.split(arrays[f"{prefix}/{theirs}.in_proj_weight"], 3)
        biases = np.split(arrays[f"{prefix}/{theirs}.in_proj_bias"], 3)
        projections = list(zip(weights, biases, strict=True))
        out = pair(f"{theirs}.out_proj")
        params[ours] = _attention(*projections, out, num_heads=3)
    for i, name in enumerate([*attentions, "feed_forward"]):
        params[f"{name}_residual"] = _norm(*pair(f"norm{i + 1}"))
    return {"params": params}


def test_layers_agree_with_torch():
    arrays = _load("torch_layers.npz")
    config = TransformerConfig(
        1, 1, d_model=12, num_heads=3, d_ff=20, use_attention_bias=True
    )
    is_real = ~arrays["source_is_padding"]
    source, target = is_real.astype(int), np.ones(arrays["target"].shape[:2], int)
    memory = EncoderLayer(config).apply(
        _torch_layer(arrays, "encoder", {"self_attention": "self_attn"}),
        arrays["source"],
        Visibility(source, source),
        None,
    )
    expected = arrays["encoder_output"]
    np.testing.assert_allclose(memory[is_real], expected[is_real], atol=1e-5)
    attentions = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
    output = DecoderLayer(config).apply(
        _torch_layer(arrays, "decoder", attentions),
        arrays["target"],
        memory,
        Visibility(target, target, is_causal=True),
        Visibility(target, source),
        None,
    )
    np.testing.assert_allclose(output, arrays["decoder_output"], atol=1e-5)


def _marian_params(arrays):
    """Rename the weights of a MarianMTModel with 2 + 3 layers and 4 heads."""

    def pair(name):
        name = f"weights/model.{name}"
        return arrays[f"{name}.weight"], arrays[f"{name}.bias"]

    def attention(name):
        projections = ("q_proj", "k_proj", "v_proj", "out_proj")
        return _attention(*(pair(f"{name}.{which}") for which in projections), 4)

    def stack(name, num_layers, attentions):
        return {
            f"layer_{i}": {
                "feed_forward": {
                    "expand": _linear(*pair(f"{name}.layers.{i}.fc1")),
                    "contract": _linear(*pair(f"{name}.layers.{i}.fc2")),
                },
                "feed_forward_residual": _norm(
                    *pair(f"{name}.layers.{i}.final_layer_norm")
                ),
            }
            | {
                ours: attention(f"{name}.layers.{i}.{theirs}")
                for ours, theirs in attentions.items()
            }
            | {
                f"{ours}_residual": _norm(
                    *pair(f"{name}.layers.{i}.{theirs}_layer_norm")
                )
                for ours, theirs in attentions.items()
            }
            for i in range(num_layers)
        }

    attentions = {"self_attention": "self_attn"}
    return {
        "token_embedding": {"embedding": arrays["weights/model.shared.weight"]},
        "logits_bias": arrays["weights/final_logits_bias"][0],
        "encoder": stack("encoder", 2, attentions),
        "decoder": stack(
            "decoder", 3, attentions | {"cross_attention": "encoder_attn"}
        ),
    }


@pytest.mark.parametrize("activation", ["relu", "swish"])
def test_the_whole_model_agrees_with_marian(activation):
    arrays = _load(f"marian_{activation}.npz")
    config = TransformerConfig(
        31,
        31,
        num_encoder_layers=2,
        num_decoder_layers=3,
        d_model=16,
        d_ff=24,
        num_heads=4,
        activation=activation,
        sinusoid_layout="halves",
        norm_epsilon=1e-5,
        use_attention_bias=True,
        use_logits_bias=True,
    )
    model, params = Transformer(config), _marian_params(arrays)
    source = {
        "source_tokens": arrays["source_tokens"],
        "source_segments": arrays["source_mask"],
    }
    is_real = arrays["source_mask"] == 1
    memory = small.run(model, params, source, "encode")
    expected = arrays["encoder_output"]
    np.testing.assert_allclose(memory[is_real], expected[is_real], atol=1e-5)
    target = {
        "decoder_input_tokens": arrays["decoder_input_tokens"],
        # Marian starts with its padding token, and masks nothing of the target.
        "target_segments": np.ones_like(arrays["decoder_input_tokens"]),
    }
    logits, state = small.run(model, params, source | target, mutable="intermediates")
    np.testing.assert_allclose(logits, arrays["logits"], atol=1e-5)

    maps = state["intermediates"]
    (weights,) = maps["encoder"]["layer_0"]["self_attention"]["attention_weights"]
    # Our padded queries look nowhere.
    real_query = np.broadcast_to(is_real[:, None, :], weights.shape[:3])
    expected = arrays["encoder_attention_0"]
    np.testing.assert_allclose(weights[real_query], expected[real_query], atol=1e-5)
    for ours, theirs in (("self", "decoder"), ("cross", "cross")):
        layer = maps["decoder"]["layer_2"][f"{ours}_attention"]
        (weights,) = layer["attention_weights"]
        np.testing.assert_allclose(weights, arrays[f"{theirs}_attention_2"], atol=1e-5)
