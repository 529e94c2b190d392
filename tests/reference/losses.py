"""Section 5.4, one number at a time, in float64."""

import math


def smoothed_cross_entropy(logits, target_tokens, loss_weights, label_smoothing):
    """Return the weighted sum over positions of -sum over words of q log p.

    logits [b, t, V]; target_tokens and loss_weights [b, t]. q is 1 on the truth, mixed
    with the uniform distribution: (1 - eps) q + eps / V.
    """
    num_rows, length, vocab_size = logits.shape
    total = 0.0
    for b in range(num_rows):
        for t in range(length):
            partition = sum(math.exp(logit) for logit in logits[b, t])
            for v in range(vocab_size):
                q = (1.0 - label_smoothing) * (v == target_tokens[b, t])
                q += label_smoothing / vocab_size
                log_p = math.log(math.exp(logits[b, t, v]) / partition)
                total -= loss_weights[b, t] * q * log_p
    return total
