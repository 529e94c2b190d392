"""How hypotheses of different lengths are weighed against one another."""

import jax.numpy as jnp
import numpy as np
import pytest

from tests.decoding.table_model import settings
from transformer_jax.decoding.hypotheses import can_still_win, length_penalty


def test_length_penalty_counts_as_worked_out_by_hand():
    # (6 / 6)^0.6, (8 / 6)^0.6, 3^0.6, (12 / 6)^0 and (12 / 6)^-1.
    assert float(length_penalty(1, 0.6, "gnmt")) == 1.0
    np.testing.assert_allclose(length_penalty(3, 0.6, "gnmt"), 1.18840, atol=1e-5)
    np.testing.assert_allclose(length_penalty(3, 0.6, "length"), 3**0.6, atol=1e-6)
    np.testing.assert_allclose(length_penalty(7, 0.0, "gnmt"), 1.0)
    np.testing.assert_allclose(length_penalty(7, -1.0, "gnmt"), 0.5)
    with pytest.raises(ValueError, match="expected"):
        length_penalty(3, 0.6, "google")


@pytest.mark.parametrize(
    ("alpha", "kind", "penalty"),
    [
        # At the last length, 7: (5 + 7) / 6 = 2, its power 0, and 7.
        (1.0, "gnmt", 2.0),
        (0.0, "gnmt", 1.0),
        (1.0, "length", 7.0),
        # A negative alpha is kindest to the very next length, 4: 6 / 9 and 1 / 4.
        (-1.0, "gnmt", 2 / 3),
        (-1.0, "length", 1 / 4),
    ],
)
def test_what_is_within_reach_is_weighed_at_the_kindest_length(alpha, kind, penalty):
    chosen = settings(beam_size=2, alpha=alpha, length_penalty=kind)
    log_probs = jnp.array([[-9.0, -3.0]] * 3 + [[-np.inf, -np.inf]])
    reach = -3.0 / penalty
    finished = jnp.array([[reach - 0.01], [reach + 0.01], [-np.inf], [-np.inf]])
    limits = jnp.array([7, 7, 3, 7])
    wins = can_still_win(log_probs, finished, jnp.int32(3), limits, chosen)
    # Just within reach; just out of it; at its length limit; without open hypotheses.
    assert wins.tolist() == [True, False, False, False]
