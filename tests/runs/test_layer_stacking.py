import json

import jax
import numpy as np
import pytest

from tests.tiny_run import tiny_config
from transformer_jax.runs import experiment


def _train(text, workdir, *spans):
    """Train up to a step with the layers as named, and so on; return the losses."""
    for num_steps, layer_scan in spans:
        config = tiny_config(text, num_steps=num_steps)
        config.model.update(num_encoder_layers=2, num_decoder_layers=3)
        config.training.layer_scan = layer_scan
        config.optimizer.update(ema_decay=0.9, weight_decay=0.1)
        config.sharding.data = 2
        experiment.train(config, workdir)
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    return [entry["train/loss"] for entry in entries if "train/loss" in entry]


def _read(path):
    """Return every array of a state on disk by its path."""
    import orbax.checkpoint as ocp

    with ocp.StandardCheckpointer() as reader:
        state = reader.restore(path.absolute())
    return {
        jax.tree_util.keystr(keys): np.asarray(leaf)
        for keys, leaf in jax.tree_util.tree_leaves_with_path(state)
    }


def test_a_run_goes_on_with_its_layers_stacked_or_not(text, tmp_path):
    one = _train(text, tmp_path / "one", (4, "never"))
    both = _train(text, tmp_path / "both", (2, "always"), (3, "never"), (4, "always"))
    np.testing.assert_allclose(both, one, rtol=1e-5)
    states = [_read(tmp_path / run / "checkpoints" / "4") for run in ("one", "both")]
    assert states[0].keys() == states[1].keys()
    for name, array in states[0].items():
        # Adam divides by the root of tiny squares: rounding shows in the weights.
        np.testing.assert_allclose(states[1][name], array, atol=1e-4, err_msg=name)


@pytest.mark.slow
def test_stacked_layers_go_on_bit_for_bit(text, tmp_path):
    _train(text, tmp_path / "unbroken", (4, "always"))
    _train(text, tmp_path / "broken", (2, "always"), (4, "always"))
    unbroken, broken = (
        _read(tmp_path / run / "checkpoints" / "4") for run in ("unbroken", "broken")
    )
    for name, array in unbroken.items():
        np.testing.assert_array_equal(broken[name], array, err_msg=name)
