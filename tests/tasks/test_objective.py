import jax
import numpy as np

from tests.tiny_model import tiny_model
from tests.training.toy import make_batch
from transformer_jax.tasks.objective import translation_objective


def test_sums_count_what_a_loop_over_the_tokens_counts():
    model, params = tiny_model()
    batch = make_batch()
    loss_fn = jax.jit(translation_objective(model, label_smoothing=0.1))
    loss, (weight, sums) = loss_fn(params, batch, None)
    logits = jax.jit(model.apply)(
        {"params": params},
        batch.source_tokens,
        batch.decoder_input_tokens,
        source_segments=batch.source_segments,
        target_segments=batch.target_segments,
    )
    logits = np.asarray(logits, np.float64)[..., :11]
    nll = smoothed = correct = 0.0
    for row, column in zip(*np.nonzero(batch.loss_weights), strict=True):
        truth = batch.target_tokens[row, column]
        log_probs = logits[row, column] - np.log(np.exp(logits[row, column]).sum())
        nll -= log_probs[truth]
        smoothed -= 0.9 * log_probs[truth] + 0.1 * log_probs.mean()
        correct += log_probs.argmax() == truth
    np.testing.assert_allclose(sums["nll"].total, nll, rtol=1e-5)
    np.testing.assert_allclose(loss, smoothed, rtol=1e-5)
    assert sums["accuracy"].total == correct
    # Seven rows of 1 to 7 real target and 5 source tokens, and one of padding.
    assert weight == sums["target_tokens"] == 28
    assert sums["source_tokens"] == 35
    assert sums["padding_share"] == (8 * (5 + 7) - 35 - 28, 8 * (5 + 7))
