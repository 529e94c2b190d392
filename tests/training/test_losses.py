import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.training.losses import smoothed_cross_entropy

LOGITS = jnp.array([[0.0, 1.0, 2.0, 3.0]])
TRUTH = jnp.array([3], jnp.int32)
ONE = jnp.ones((1,))


def loss_of(logits, truth=TRUTH, weights=ONE, **options):
    options = {"label_smoothing": 0.1, "vocab_size": 4, **options}
    return smoothed_cross_entropy(logits, truth, weights, **options)


# exp(0) + exp(1) + exp(2) + exp(3) = 31.1929, whose logarithm is 3.440190; the loss is
# that less the mean logit under the targets. "uniform" has 0.925 on the truth and 0.025
# elsewhere, 0.925 * 3 + 0.025 * (0 + 1 + 2) = 2.85; "others" has 0.9 and 0.1 / 3, which
# makes 0.9 * 3 + 0.1 = 2.8. Without smoothing it is 3.
@pytest.mark.parametrize(
    ("formula", "expected"), [("uniform", 0.590190), ("others", 0.640190)]
)
def test_each_formula_gives_its_value_worked_out_by_hand(formula, expected):
    loss, nll, weight = loss_of(LOGITS, label_smoothing_formula=formula)
    np.testing.assert_allclose(loss, expected, atol=1e-6)
    np.testing.assert_allclose(nll, 0.440190, atol=1e-6)
    assert weight == 1


def test_unit_variance_logits_at_37_000_pieces_cost_11_02():
    # E[exp(x)] = exp(1/2) for a normal x: ln 37 000 + 1/2 = 10.5187 + 0.5.
    rng = np.random.default_rng(0)
    logits = jnp.asarray(rng.standard_normal((513, 37_000)), jnp.float32)
    truth = jnp.asarray(rng.integers(0, 37_000, 513), jnp.int32)
    loss, _, num = loss_of(logits, truth, jnp.ones(513), vocab_size=37_000)
    # 513 truths of variance one: their mean deviates by 0.04.
    np.testing.assert_allclose(loss / num, 11.02, atol=0.1)


def test_without_smoothing_the_loss_is_the_negative_log_likelihood():
    loss, nll, _ = loss_of(LOGITS, label_smoothing=0.0)
    np.testing.assert_allclose(loss, nll, atol=1e-7)


@pytest.mark.parametrize("formula", ["uniform", "others"])
def test_loss_and_gradient_are_those_of_the_written_out_targets(formula):
    rng = np.random.default_rng(0)
    logits = jnp.asarray(rng.standard_normal((2, 3, 7)), jnp.float32)
    truth = jnp.asarray(rng.integers(0, 7, (2, 3)), jnp.int32)
    weights = jnp.asarray(rng.integers(0, 2, (2, 3)), jnp.float32)
    on_truth, elsewhere = {
        "uniform": (0.8 + 0.2 / 7, 0.2 / 7),
        "others": (0.8, 0.2 / 6),
    }[formula]
    targets = np.full((2, 3, 7), elsewhere)
    for row in range(2):
        for column in range(3):
            targets[row, column, truth[row, column]] = on_truth

    def expected(logits):
        log_probs = jax.nn.log_softmax(logits)
        return -jnp.sum(jnp.asarray(targets) * log_probs * weights[..., None])

    def actual(logits):
        options = {
            "label_smoothing": 0.2,
            "vocab_size": 7,
            "label_smoothing_formula": formula,
        }
        return loss_of(logits, truth, weights, **options)[0]

    np.testing.assert_allclose(actual(logits), expected(logits), rtol=1e-6)
    np.testing.assert_allclose(
        jax.grad(actual)(logits), jax.grad(expected)(logits), atol=1e-6
    )


def test_padded_columns_change_neither_loss_nor_gradient():
    lowest = jnp.full((1, 3), jnp.finfo(jnp.float32).min)
    wide = jnp.concatenate([LOGITS, lowest], axis=-1)
    assert loss_of(wide) == loss_of(LOGITS)
    gradient = jax.grad(lambda logits: loss_of(logits)[0])
    np.testing.assert_allclose(gradient(wide)[:, :4], gradient(LOGITS), atol=1e-7)
    np.testing.assert_array_equal(gradient(wide)[:, 4:], 0.0)


def test_a_position_without_weight_has_no_loss_and_no_gradient_even_if_infinite():
    logits = jnp.array(
        [[0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0, jnp.finfo("float32").min]]
    )
    truth = jnp.array([3, 3], jnp.int32)
    weights = jnp.array([1.0, 0.0])
    (loss, nll, weight) = loss_of(logits, truth, weights, label_smoothing=0.0)
    np.testing.assert_allclose([loss, nll, weight], [0.440190, 0.440190, 1], atol=1e-6)
    gradient = jax.grad(lambda logits: loss_of(logits, truth, weights)[0])(logits)
    assert np.isfinite(gradient).all()
    np.testing.assert_array_equal(gradient[1], 0.0)


def test_the_loss_is_float32_for_bfloat16_logits():
    assert loss_of(LOGITS.astype(jnp.bfloat16))[0].dtype == jnp.float32


def test_an_unknown_formula_is_refused():
    with pytest.raises(ValueError, match="'pad'"):
        loss_of(LOGITS, label_smoothing_formula="pad")


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_the_gradient_keeps_no_second_array_of_logits(dtype):
    logits = jax.ShapeDtypeStruct((3, 64, 5000), dtype)
    truth = jax.ShapeDtypeStruct((3, 64), jnp.int32)
    weights = jax.ShapeDtypeStruct((3, 64), jnp.float32)
    _, kept = jax.eval_shape(
        lambda *arguments: jax.vjp(
            lambda logits: loss_of(logits, *arguments[1:], vocab_size=5000)[0],
            arguments[0],
        ),
        logits,
        truth,
        weights,
    )
    large = [leaf for leaf in jax.tree.leaves(kept) if leaf.size >= logits.size]
    assert [(leaf.shape, leaf.dtype) for leaf in large] == [(logits.shape, dtype)]


def test_a_bfloat16_gradient_is_the_float32_one_rounded():
    rng = np.random.default_rng(0)
    logits = jnp.asarray(rng.standard_normal((2, 3, 7)), jnp.bfloat16)
    truth = jnp.asarray(rng.integers(0, 7, (2, 3)), jnp.int32)

    def gradient(logits):
        return jax.grad(
            lambda logits: loss_of(logits, truth, jnp.ones((2, 3)), vocab_size=7)[0]
        )(logits)

    narrow, wide = gradient(logits), gradient(logits.astype(jnp.float32))
    assert narrow.dtype == jnp.bfloat16
    # Half a unit in the last of bfloat16's eight bits.
    np.testing.assert_allclose(narrow.astype(jnp.float32), wide, rtol=2**-8)
