"""Weights are collected whole, in order, and beside the right pieces."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.errors import UserError
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.parameters import param_shapes
from transformer_jax.models.transformer import Transformer
from transformer_jax.visualization.attention_maps import collect_attention

VOCABULARY = ["<pad>", "<s>", "</s>", "<unk>", "▁ein", "▁Hund", "chen", ".", "▁", "▁x"]


class WordTokenizer:
    """Looks pieces up that are written apart."""

    pad_id, bos_id, eos_id, unk_id = 0, 1, 2, 3
    vocab_size = len(VOCABULARY)

    def encode(self, sentences):
        return [[VOCABULARY.index(p) for p in line.split()] for line in sentences]

    def pieces(self, ids):
        return [VOCABULARY[i] for i in ids]


def run_of(model, params):
    """What `collect_attention` asks of a run."""
    tokenizer = WordTokenizer()
    return SimpleNamespace(
        parts=SimpleNamespace(model=model, task=SimpleNamespace(can_translate=True)),
        params=params,
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
    )


@pytest.fixture(scope="module")
def model():
    return Transformer(
        TransformerConfig(
            source_vocab_size=len(VOCABULARY),
            target_vocab_size=len(VOCABULARY),
            num_encoder_layers=1,
            num_decoder_layers=2,
            d_model=8,
            d_ff=12,
            num_heads=4,
        )
    )


@pytest.fixture(scope="module")
def maps(model):
    shapes = param_shapes(model)
    rng = np.random.default_rng(0)
    params = jax.tree.map(lambda s: rng.standard_normal(s.shape, np.float32), shapes)
    source, target = "▁ein ▁Hund chen ▁ ▁x .", "▁Hund chen ."
    return collect_attention(run_of(model, params), source, target)


def test_pieces_are_labelled_for_people(maps):
    assert maps.source_pieces == ("ein", "Hund", "·chen", "␣", "x", ".", "</s>")
    assert maps.read_pieces == ("<s>", "Hund", "·chen", ".")
    assert maps.written_pieces == ("Hund", "·chen", ".", "</s>")


@pytest.mark.parametrize(
    ("kind", "shape"),
    [("encoder", (1, 4, 7, 7)), ("decoder", (2, 4, 4, 4)), ("cross", (2, 4, 4, 7))],
)
def test_every_layer_and_head_has_rows_that_add_up_to_one(maps, kind, shape):
    assert maps.weights[kind].shape == shape
    assert shape[2:] == (len(maps.query_pieces(kind)), len(maps.key_pieces(kind)))
    np.testing.assert_allclose(maps.weights[kind].sum(axis=-1), 1, atol=1e-5)


def test_the_decoder_looks_at_nothing_that_it_has_yet_to_write(maps):
    future = np.triu(np.ones((4, 4), bool), k=1)
    assert (maps.weights["decoder"][..., future] == 0).all()


class Sown:
    """A model that does nothing but leave `intermediates`."""

    def __init__(self, intermediates):
        self.intermediates = intermediates

    def apply(self, *_, mutable, **__):
        return jnp.zeros(()), {mutable[0]: self.intermediates}


def test_layers_come_in_the_order_of_their_numbers():
    """With more than ten layers the order of names is not that of numbers."""
    attentions = ("self_attention", "cross_attention")
    layers = {
        f"layer_{layer}": {
            name: {"attention_weights": (jnp.full((1, 3, 2, 2), layer),)}
            for name in attentions
        }
        for layer in range(12)
    }
    model = Sown({"encoder": layers, "decoder": layers})
    maps = collect_attention(run_of(model, {}), "▁x", "▁x")
    for weights in maps.weights.values():
        np.testing.assert_array_equal(weights[:, 0, 0, 0], np.arange(12))


def test_an_empty_source_is_refused(model):
    with pytest.raises(UserError, match="empty"):
        collect_attention(run_of(model, {}), " ", "▁x")


def test_a_model_that_attends_from_the_decoder_alone_has_that_one_kind():
    layer = {"cross_attention": {"attention_weights": (jnp.ones((1, 3, 2, 5)),)}}
    sown = {"decoder": {"layer_0": layer, "layer_1": layer}, "encoder": {"layer_0": {}}}
    maps = collect_attention(run_of(Sown(sown), {}), "▁x", "▁x")
    assert {kind: kept.shape for kind, kept in maps.weights.items()} == {
        "cross": (2, 3, 2, 5)
    }


def test_a_model_without_attention_weights_is_refused():
    with pytest.raises(UserError, match="keeps no attention weights"):
        collect_attention(run_of(Sown({}), {}), "▁x", "▁x")
