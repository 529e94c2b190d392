import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models import small
from tests.reference.dilated import dilated as reference
from transformer_jax.errors import UserError
from transformer_jax.models.dilated import Dilated, DilatedConfig

SIZES = {
    "num_encoder_layers": 2,
    "num_decoder_layers": 3,
    "d_model": 12,
    "num_dilations": 2,
}
# The second target is longer than its source; rows end in padding.
BATCH = {
    "source_segments": np.array([[1] * 4 + [2] * 2 + [0], [1] * 7]),
    "target_segments": np.array([[1] * 3 + [2] * 5 + [0], [1] * 9]),
}


def _config(**changes):
    sizes = {"source_vocab_size": small.VOCAB_SIZE}
    sizes["target_vocab_size"] = small.VOCAB_SIZE
    return DilatedConfig(**(sizes | SIZES | changes))


def _batch():
    rng = np.random.default_rng(0)
    return BATCH | {
        "source_tokens": rng.integers(4, small.VOCAB_SIZE, (2, 7)),
        "decoder_input_tokens": rng.integers(4, small.VOCAB_SIZE, (2, 9)),
    }


def _run(model, params, batch):
    """Apply the model, compiled as a whole."""
    run = jax.jit(lambda params, batch: small.run(model, params, batch))
    return run(params, batch)


@pytest.mark.parametrize("num_dilations", [1, 2, 5])
def test_logits_agree_with_the_reference(num_dilations):
    model = Dilated(_config(num_dilations=num_dilations))
    params, batch = small.random_params(model), _batch()
    expected = reference(params, num_dilations, **batch)
    real = batch["target_segments"] != 0
    logits = np.asarray(_run(model, params, batch))
    np.testing.assert_allclose(logits[real], expected[real], atol=1e-5)


def test_the_decoder_sees_as_far_as_its_dilations_reach():
    """Two more positions for each unit of dilation, through 1, 2, 1."""
    model = Dilated(_config(d_model=40))
    params = small.random_params(model)
    batch = small.batch() | {
        "decoder_input_tokens": np.full((2, 15), 5),
        "target_segments": np.ones((2, 15), int),
    }
    other = batch | {"decoder_input_tokens": batch["decoder_input_tokens"].copy()}
    other["decoder_input_tokens"][:, 2] = 9
    differs = _run(model, params, batch) != _run(model, params, other)
    seen_at = np.flatnonzero(np.asarray(differs).any(axis=(0, 2)))
    assert seen_at.tolist() == [*range(2, 2 + 1 + 2 * (1 + 2 + 1))]


def test_bfloat16_stays_near_float32():
    model, half = Dilated(_config()), Dilated(_config(dtype="bfloat16"))
    params = small.random_params(model)
    real = BATCH["target_segments"] != 0
    expected = np.asarray(_run(model, params, _batch()))[real]
    logits = _run(half, params, _batch())
    assert logits.dtype == jnp.bfloat16
    # bfloat16 keeps 8 bits, and errors add up over the layers.
    np.testing.assert_allclose(
        np.asarray(logits, np.float32)[real], expected, rtol=0.1, atol=0.15
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel_width": 2}, "kernel_width=2 is even.*odd"),
        ({"d_model": 7}, "d_model=7 is odd.*even"),
    ],
)
def test_sizes_that_do_not_divide_are_refused(changes, message):
    with pytest.raises(UserError, match=message):
        _config(**changes)


def test_no_sentence_is_too_long():
    assert _config().longest_length is None
