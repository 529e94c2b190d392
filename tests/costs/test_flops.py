import functools

import jax
import jax.numpy as jnp
import pytest

from tests.reference.operations import product_flops
from transformer_jax.costs.accelerators import (
    ACCELERATORS,
    find_accelerator,
    sustained_flops,
)
from transformer_jax.costs.flops import step_flops, text_training_flops, training_flops
from transformer_jax.data.batch import Batch
from transformer_jax.errors import UserError
from transformer_jax.models.bert import Bert
from transformer_jax.models.bert_config import BertConfig
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.operations import attention_flops, transformer_flops
from transformer_jax.models.parameters import init_params
from transformer_jax.models.transformer import Transformer
from transformer_jax.tasks.objective import translation_objective
from transformer_jax.training.optimizer import constant, make_optimizer
from transformer_jax.training.state import create_state
from transformer_jax.training.step import train_step

SMALL = TransformerConfig(
    source_vocab_size=11,
    target_vocab_size=11,
    num_encoder_layers=1,
    num_decoder_layers=2,
    d_model=6,
    d_ff=10,
    num_heads=2,
    d_k=3,
    d_v=4,
)
SMALL_BERT = {"num_layers": 3, "d_model": 6, "d_ff": 10, "num_heads": 2}
BASE = TransformerConfig(source_vocab_size=37_000, target_vocab_size=37_000)


def test_attention_is_four_projections_and_two_products():
    # Five queries and seven keys; h d_k = 6, h d_v = 8.
    queries, keys, values, output = 5 * 6 * 6, 7 * 6 * 6, 7 * 6 * 8, 5 * 8 * 6
    scores, averages = 5 * 7 * 6, 5 * 7 * 8
    products = queries + keys + values + output + scores + averages
    assert attention_flops(SMALL, 5, 7) == 2 * products


def test_the_forward_pass_is_the_sum_of_its_layers_and_the_logits():
    encoder = attention_flops(SMALL, 5, 5) + 2 * 2 * 5 * 6 * 10
    decoder = (
        attention_flops(SMALL, 7, 7) + attention_flops(SMALL, 7, 5) + 2 * 2 * 7 * 6 * 10
    )
    assert transformer_flops(SMALL, 5, 7) == encoder + 2 * decoder + 2 * 7 * 6 * 11


def test_a_bert_is_its_encoder_and_the_head_at_the_places_that_are_predicted():
    config = BertConfig(11, **SMALL_BERT)
    layer = attention_flops(config.encoder, 5, 5) + 2 * 2 * 5 * 6 * 10
    transform, logits = 2 * 2 * 6 * 6, 2 * 2 * 6 * 11
    forward = 3 * layer + transform + logits
    assert Bert(config).forward_flops(5, 2) == forward
    classified = BertConfig(11, num_classes=4, **SMALL_BERT)
    assert Bert(classified).forward_flops(5, 1) == 3 * layer + 2 * 6 * 4
    assert (
        text_training_flops(
            Bert(config), tokens=500, predictions=200, sentence_length=5
        )
        == 3 * 100 * forward
    )


def test_the_base_model_costs_six_operations_for_each_weight_and_token():
    flops = training_flops(
        Transformer(BASE), source_tokens=2.5e9, target_tokens=2.5e9, sentence_length=1
    )
    # 63 million weights, and 2.5 billion tokens on each side.
    assert flops == pytest.approx(6 * 63.0e6 * 2.5e9, rel=0.01)


def test_longer_sentences_cost_more_for_the_same_tokens():
    costs = [
        training_flops(
            Transformer(BASE),
            source_tokens=1000,
            target_tokens=1000,
            sentence_length=length,
        )
        for length in (10, 100, 1000)
    ]
    assert costs == sorted(costs)
    # Three attentions a pair of layers, 4 n d each, six times, trained.
    assert costs[2] - costs[1] == 3 * 1000 * 6 * 3 * 4 * 900 * 512


def test_each_side_costs_what_its_own_tokens_pass_through():
    # Four pairs of five source and three target pieces.
    pair = transformer_flops(SMALL, 5, 3)
    counted = training_flops(
        Transformer(SMALL), source_tokens=20, target_tokens=12, sentence_length=3
    )
    assert counted == pytest.approx(3 * 4 * pair)


def test_the_papers_own_times_give_the_papers_flops():
    gpu = ACCELERATORS["P100"]
    assert sustained_flops(12 * 3600, 8, gpu) == pytest.approx(3.3e18, rel=0.01)
    assert sustained_flops(3.5 * 86_400, 8, gpu) == pytest.approx(2.3e19, rel=0.01)


@pytest.mark.parametrize(
    ("name", "units", "products", "clock"),
    [
        # CUDA cores of one of the two GPUs on a board, one product a cycle each.
        ("K80", 2496, 1, 0.875e9),
        ("K40", 2880, 1, 0.875e9),
        ("M40", 3072, 1, 1.114e9),
        ("P100", 3584, 1, 1.480e9),
        # Tensor cores.
        ("V100", 640, 64, 1.530e9),
        ("A100", 432, 256, 1.410e9),
        ("H100", 528, 512, 1.830e9),
        # Matrix units, 128 by 128.
        ("TPU v3", 4, 128**2, 0.940e9),
        ("TPU v4", 8, 128**2, 1.050e9),
        ("TPU v5e", 4, 128**2, 1.500e9),
        ("TPU v5p", 8, 128**2, 1.750e9),
    ],
)
def test_peaks_are_units_times_products_times_clock(name, units, products, clock):
    expected = 2 * units * products * clock
    assert find_accelerator(name).peak == pytest.approx(expected, rel=0.01)


def test_nothing_sustains_more_than_its_peak():
    for accelerator in ACCELERATORS.values():
        assert 0 < accelerator.sustained <= accelerator.peak
        assert accelerator.source


def test_an_unknown_accelerator_names_those_there_are():
    with pytest.raises(UserError, match="K80.*TPU v6e"):
        find_accelerator("abacus")


def _step(config, num_pairs, source_length, target_length):
    """Return a training step and the shapes of its arguments."""
    model = Transformer(config)
    optimizer = make_optimizer(beta1=0.9, beta2=0.98, epsilon=1e-9)
    state = jax.eval_shape(
        lambda: create_state(init_params(model, jax.random.key(0)), optimizer)
    )

    def ids(length, dtype=jnp.int32):
        return jax.ShapeDtypeStruct((num_pairs, length), dtype)

    batch = Batch(
        source_tokens=ids(source_length),
        source_segments=ids(source_length),
        source_positions=ids(source_length),
        decoder_input_tokens=ids(target_length),
        target_tokens=ids(target_length),
        target_segments=ids(target_length),
        target_positions=ids(target_length),
        loss_weights=ids(target_length, jnp.float32),
    )
    step = functools.partial(
        train_step,
        loss_fn=translation_objective(model, label_smoothing=0.1),
        optimizer=optimizer,
        schedule=constant(1e-3),
    )
    rng = jax.eval_shape(lambda: jax.random.key(0))
    return step, (state, batch, rng)


def test_the_count_is_that_of_all_products_of_the_base_models_step():
    step, shapes = _step(BASE, 2, 3, 5)
    jaxpr = jax.make_jaxpr(step)(*shapes).jaxpr
    assert product_flops(jaxpr) == step_flops(Transformer(BASE), 2, 3, 5)


@pytest.mark.slow
def test_the_count_is_that_of_xla_for_the_compiled_step_of_the_base_model():
    """Twelve layers one after another, no loop, whose body XLA would count once.

    XLA also counts Adam (some 15 operations for each of 63 million weights), softmax
    and norms; at these lengths all of it is below 1 % of the products. Nothing runs.
    """
    step, shapes = _step(BASE, 32, 24, 40)
    compiled = jax.jit(step).lower(*shapes).compile()
    counted = step_flops(Transformer(BASE), 32, 24, 40)
    assert compiled.cost_analysis()["flops"] == pytest.approx(counted, rel=0.03)
