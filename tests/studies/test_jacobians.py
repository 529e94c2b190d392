"""The norm of a derivative over distance, against one worked out in full."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.models import small
from transformer_jax.models.recurrent import Recurrent, RecurrentConfig
from transformer_jax.runs.components import build_model
from transformer_jax.studies import jacobians, long_dependencies

V = small.VOCAB_SIZE


def test_the_norm_is_that_of_finite_differences_on_the_sentence_alone():
    model, params = small.build(tied_embeddings="none")
    rng = np.random.default_rng(0)
    tokens = rng.integers(4, V - 1, (2, 8)).astype(np.int32)
    norm = jax.jit(jacobians.jacobian_norm, static_argnums=(0, 4))(
        model, params, jnp.int32(3), tokens, V - 1
    )

    @jax.jit
    def logits(row):
        table = jnp.asarray(params["source_embedding"]["embedding"]).at[V - 1].set(row)
        source = tokens[:1, :4].copy()
        source[0, 0] = V - 1
        batch = {
            "source_tokens": source,
            "decoder_input_tokens": tokens[1:, :4],
            "source_segments": np.ones((1, 4), int),
            "target_segments": np.ones((1, 4), int),
        }
        changed = params | {"source_embedding": {"embedding": table}}
        return small.run(model, changed, batch)[0, 3, : V - 1]

    row, step = params["source_embedding"]["embedding"][V - 1], 1e-2
    columns = []
    for axis in range(len(row)):
        move = step * np.eye(len(row), dtype=np.float32)[axis]
        ends = (np.float64(logits(row + sign * move)) for sign in (1, -1))
        columns.append(np.subtract(*ends) / (2 * step))
    # Differences of float32 numbers over 2e-2.
    np.testing.assert_allclose(norm, np.linalg.norm(columns), rtol=1e-2)


def test_what_an_lstm_forgets_falls_with_distance():
    model = Recurrent(RecurrentConfig(V, V, num_layers=1, d_model=12, d_state=12))
    params = small.random_params(model)
    tokens = np.random.default_rng(0).integers(4, V - 1, (2, 41)).astype(np.int32)
    norm = jax.jit(
        lambda distance: jacobians.jacobian_norm(model, params, distance, tokens, V - 1)
    )
    near, middle, far = (float(norm(distance)) for distance in (1, 10, 40))
    assert near > 2 * middle > 4 * far > 0


def test_every_system_of_the_full_form_has_room_for_the_longest_distance():
    full = jacobians.STUDY.sizes["full"]
    for system in full.training.systems:
        config = long_dependencies.make_config(full.training, system, seed=0)
        longest = build_model(config, V, V).config.longest_length
        assert longest is None or longest > max(full.distances), system
