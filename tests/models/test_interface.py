"""The contract of models/interface.py, tried on every translation model."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from tests.documents import module_of
from tests.models import small
from tests.reference.operations import product_flops
from transformer_jax.fields import declared
from transformer_jax.models import TRANSLATION_MODELS, ModelKind
from transformer_jax.models.dropout import dropout_bits
from transformer_jax.models.parameters import init_params, param_axes, param_shapes

_BAG = module_of("docs/adding_a_model.md", "transformer_jax/models/bag_of_words.py")
KINDS = {
    "bag_of_words": ModelKind(_BAG.BagOfWords, _BAG.BagOfWordsConfig),
    **TRANSLATION_MODELS,
}
# Sizes at which a model is quick; one that is not named here is tried as it comes.
SIZES: dict[str, list[dict[str, Any]]] = {
    "transformer": [
        small.SIZES,
        small.SIZES
        | {"norm_position": "pre", "use_logits_bias": True, "vocab_multiple": 8}
        | {"positions": "learned", "tied_embeddings": "none"}
        | {"norm_embeddings": True},
    ],
    # Blocks of one position and its neighbours; source and target are longer.
    "restricted_transformer": [
        small.SIZES | {"window": 3, "attention_scaling": "none"}
    ],
    "bag_of_words": [{"width": 12}],
    "recurrent": [
        {"num_layers": 2, "d_model": 12, "d_state": 10},
        {"num_layers": 1, "d_model": 12, "d_state": 10, "cell": "gru"}
        | {"reverse_source": False, "dropout_kind": "variational"},
    ],
    "recurrent_attention": [
        {"d_model": 12, "d_state": 10, "d_attention": 7},
        {"d_model": 12, "d_state": 10, "num_encoder_layers": 2}
        | {"num_decoder_layers": 2, "cell": "lstm", "dropout_kind": "variational"}
        | {"attention_score": "multiplicative"},
    ],
    "convolutional": [
        {"num_encoder_layers": 2, "num_decoder_layers": 3, "d_model": 12}
        | {"num_channels": 10, "kernel_width": 3, "max_positions": 16}
    ],
    "dilated": [
        {"num_encoder_layers": 2, "num_decoder_layers": 3, "d_model": 12}
        | {"num_dilations": 2}
    ],
}
CASES = [(name, sizes) for name in KINDS for sizes in SIZES.get(name, [{}])]
NUM_HYPOTHESES, LENGTH = 3, 6


@dataclasses.dataclass
class Case:
    """A model with random parameters, and what its methods give, jitted."""

    model: Any
    params: Any

    def logits(self, **batch):
        return np.asarray(jax.jit(self.model.apply)({"params": self.params}, **batch))

    def method(self, method, *arguments, **keywords):
        return self.model.apply(
            {"params": self.params}, *arguments, method=method, **keywords
        )

    def cache(self, batch, max_length=LENGTH):
        source = {name: batch[name] for name in ("source_tokens", "source_segments")}
        return self.method(
            self.model.init_cache,
            self.method(self.model.encode, **source),
            source_segments=batch["source_segments"],
            num_hypotheses=NUM_HYPOTHESES,
            max_length=max_length,
        )

    def stepper(self):
        return jax.jit(
            lambda tokens, cache: self.method(self.model.decode_step, tokens, cache)
        )

    def full_logits(self, batch, tokens):
        """Return logits [batch, hypotheses, length, vocab] without a cache."""
        count, length = NUM_HYPOTHESES, tokens.shape[-1]
        logits = self.logits(
            source_tokens=np.repeat(batch["source_tokens"], count, axis=0),
            source_segments=np.repeat(batch["source_segments"], count, axis=0),
            decoder_input_tokens=tokens.reshape(-1, length),
            target_segments=np.ones((tokens.shape[0] * count, length), int),
        )
        return logits.reshape(-1, count, length, logits.shape[-1])


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]} {case[1]}")
def case(request):
    name, sizes = request.param
    kind = KINDS[name]
    size = small.VOCAB_SIZE
    config = kind.config(source_vocab_size=size, target_vocab_size=size, **sizes)
    model = kind.module(config)
    return Case(model, small.random_params(model))


@pytest.fixture
def batch():
    return small.batch()


@pytest.fixture
def tokens():
    rng = np.random.default_rng(1)
    return rng.integers(4, small.VOCAB_SIZE, (2, NUM_HYPOTHESES, LENGTH))


def test_logits_have_a_column_for_each_piece_and_none_can_be_padding(case, batch):
    logits = case.logits(**batch)
    assert logits.shape[:2] == (2, 5)
    assert logits.dtype == np.float32
    assert logits.shape[2] >= small.VOCAB_SIZE
    assert np.isfinite(logits).all()
    lowest = np.finfo(np.float32).min
    assert (logits[..., small.VOCAB_SIZE :] == lowest).all()
    assert (logits[..., : small.VOCAB_SIZE] > lowest).all()


def test_encode_and_decode_make_the_call(case, batch):
    source = {name: batch[name] for name in ("source_tokens", "source_segments")}
    memory = case.method(case.model.encode, **source)
    assert all(leaf.shape[0] == 2 for leaf in jax.tree.leaves(memory))
    logits = case.method(
        case.model.decode,
        batch["decoder_input_tokens"],
        memory,
        source_segments=batch["source_segments"],
        target_segments=batch["target_segments"],
    )
    real = batch["target_segments"] != 0
    np.testing.assert_allclose(
        np.asarray(logits)[real], case.logits(**batch)[real], atol=1e-5
    )


def test_padding_changes_nothing(case, batch):
    expected = case.logits(**batch)
    real = batch["target_segments"] != 0
    other = dict(batch)
    for name, segments in (
        ("source_tokens", "source_segments"),
        ("decoder_input_tokens", "target_segments"),
    ):
        other[name] = np.where(batch[segments] != 0, batch[name], 5)
    np.testing.assert_array_equal(case.logits(**other)[real], expected[real])
    longer = {
        name: np.pad(rows, ((0, 1), (0, 2)), constant_values=0)
        for name, rows in batch.items()
    }
    found = case.logits(**longer)
    np.testing.assert_allclose(found[:2, :5][real], expected[real], atol=1e-5)
    assert np.isfinite(found).all()


def test_a_later_target_token_leaves_earlier_logits_alone(case, batch):
    expected = case.logits(**batch)
    other = dict(batch, decoder_input_tokens=batch["decoder_input_tokens"].copy())
    other["decoder_input_tokens"][:, 2] = (
        other["decoder_input_tokens"][:, 2] - 4 + 1
    ) % (small.VOCAB_SIZE - 4) + 4
    found = case.logits(**other)
    np.testing.assert_array_equal(found[:, :2], expected[:, :2])
    assert np.any(found[0, 2] != expected[0, 2])


def test_sentences_that_share_a_row_do_not_see_each_other(case, batch):
    """Two pairs in one row give what each gives alone."""

    def alone(side, segments):
        return batch[side][0], batch[side][1, : (batch[segments][1] != 0).sum()]

    source = alone("source_tokens", "source_segments")
    target = alone("decoder_input_tokens", "target_segments")
    packed = {}
    for side, name in ((source, "source"), (target, "target")):
        packed[f"{name}_segments"] = np.repeat([1, 2], list(map(len, side)))[None]
        packed[f"{name}_positions"] = np.concatenate(
            [np.arange(len(sentence)) for sentence in side]
        )[None]
    found = case.logits(
        source_tokens=np.concatenate(source)[None],
        decoder_input_tokens=np.concatenate(target)[None],
        **packed,
    )
    expected = case.logits(**batch)
    np.testing.assert_allclose(found[0, :5], expected[0], atol=1e-5)
    np.testing.assert_allclose(found[0, 5:], expected[1, : len(target[1])], atol=1e-5)


def test_dropout_is_of_the_row_and_none_without_bits(case, batch):
    bits = dropout_bits(jax.random.key(3), 2)
    first = case.logits(**batch, dropout=bits)
    np.testing.assert_array_equal(first, case.logits(**batch, dropout=bits))
    assert np.any(first != case.logits(**batch))
    row = {name: rows[1:] for name, rows in batch.items()}
    alone = case.logits(**row, dropout=dropout_bits(jax.random.key(3), 1, first_row=1))
    real = batch["target_segments"][1] != 0
    np.testing.assert_allclose(alone[0][real], first[1][real], atol=1e-5)


def test_steps_give_the_logits_of_the_whole_decoder(case, batch, tokens):
    expected, step = case.full_logits(batch, tokens), case.stepper()
    cache = case.cache(batch)
    for position in range(LENGTH):
        logits, cache = step(tokens[:, :, position], cache)
        np.testing.assert_allclose(logits, expected[:, :, position], atol=1e-5)


def test_a_grown_cache_goes_on_with_the_same_logits(case, batch, tokens):
    expected, step = case.full_logits(batch, tokens), case.stepper()
    cache = case.cache(batch, max_length=2)
    for position in range(LENGTH):
        if position in (2, 4):
            cache = case.model.grow_cache(cache, position + 2)
        logits, cache = step(tokens[:, :, position], cache)
        np.testing.assert_allclose(logits, expected[:, :, position], atol=1e-5)
    # Grown step by step or made so from the start, it has one shape.
    shapes = [
        [leaf.shape for leaf in jax.tree.leaves(each)]
        for each in (cache, case.cache(batch, max_length=LENGTH))
    ]
    assert shapes[0] == shapes[1]


def test_reordered_hypotheses_take_their_past_along(case, batch, tokens):
    step, cache = case.stepper(), case.cache(batch)
    for position in range(3):
        _, cache = step(tokens[:, :, position], cache)
    parents = np.array([[2, 2, 0], [1, 0, 1]])
    sentence = np.arange(2)[:, None]
    cache = dataclasses.replace(
        cache,
        hypothesis=jax.tree.map(lambda leaf: leaf[sentence, parents], cache.hypothesis),
    )
    tokens = np.concatenate([tokens[sentence, parents, :3], tokens[:, :, 3:]], axis=-1)
    expected = case.full_logits(batch, tokens)
    for position in range(3, LENGTH):
        logits, cache = step(tokens[:, :, position], cache)
        np.testing.assert_allclose(logits, expected[:, :, position], atol=1e-5)


def test_sentences_can_be_dropped_from_the_cache(case, batch, tokens):
    step, cache = case.stepper(), case.cache(batch)
    _, cache = step(tokens[:, :, 0], cache)
    expected, _ = step(tokens[:, :, 1], cache)
    cache = dataclasses.replace(
        cache,
        sentence=jax.tree.map(lambda leaf: leaf[1:], cache.sentence),
        hypothesis=jax.tree.map(lambda leaf: leaf[1:], cache.hypothesis),
    )
    logits, _ = step(tokens[1:, :, 1], cache)
    np.testing.assert_allclose(logits, expected[1:], atol=1e-5)


def test_every_axis_of_every_parameter_has_a_name(case):
    shapes, axes = param_shapes(case.model), param_axes(case.model)
    assert jax.tree.structure(shapes) == jax.tree.structure(axes)
    for leaf, names in zip(
        jax.tree.leaves(shapes),
        jax.tree.leaves(axes, is_leaf=lambda node: isinstance(node, PartitionSpec)),
        strict=True,
    ):
        # A mesh axis splits one axis of an array, so names may not come twice.
        assert len(set(names)) == len(names) == len(leaf.shape)
        assert all(isinstance(name, str) and name for name in names)
        assert leaf.dtype == np.float32


def test_parameters_depend_on_the_key_alone(case):
    first, again, other = (
        init_params(case.model, jax.random.key(seed)) for seed in (0, 0, 1)
    )
    jax.tree.map(np.testing.assert_array_equal, first, again)
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(other), strict=True)
    assert any(np.any(left != right) for left, right in pairs)


def test_the_operations_counted_are_those_of_the_program(case):
    """Products of the traced pass alone; a count may leave out a few per cent."""
    batch = {name: rows[:1] for name, rows in small.batch().items()}
    jaxpr = jax.make_jaxpr(case.model.apply)({"params": case.params}, **batch)
    counted = case.model.forward_flops(source_length=7, target_length=5)
    width = case.logits(**batch).shape[-1]
    assert width >= small.VOCAB_SIZE
    assert counted == pytest.approx(product_flops(jaxpr.jaxpr), rel=0.05)


def test_its_config_declares_fields_and_no_vocabulary(case):
    fields = declared(type(case.model.config))
    assert fields
    assert not {"source_vocab_size", "target_vocab_size", "name"} & fields.keys()
    assert case.model.config.d_model >= 1
