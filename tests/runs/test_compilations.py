import logging

import pytest

from tests.compilations import count_compilations
from tests.tiny_run import tiny_config, write_text
from transformer_jax.runs import experiment


def _count(text, workdir, num_steps):
    """Return how many programs a run of so many steps compiles."""
    config = tiny_config(text, num_steps)
    config.data.max_batch_shapes = 3
    config.evaluation.eval_every_steps = 1
    config.checkpoints.save_every_steps = 1
    with count_compilations() as num_compiled:
        experiment.train(config, workdir)
        return num_compiled()


@pytest.mark.slow
def test_an_epoch_compiles_a_step_for_each_shape_and_the_next_one_nothing(
    tmp_path, caplog
):
    caplog.set_level(logging.INFO)
    text = write_text(tmp_path / "text")
    _count(text, tmp_path / "first", 1)  # Small programs that runs share.
    (plan,) = (r.getMessage() for r in caplog.records if "batches an" in r.getMessage())
    num_batches = int(plan.split(" pairs in ")[1].split()[0])
    num_shapes = int(plan.split(" shapes;")[0].split()[-1])
    assert num_shapes == 3 and num_batches > 3
    one_shape = _count(text, tmp_path / "step", 1)
    epoch = _count(text, tmp_path / "epoch", num_batches)
    two_epochs = _count(text, tmp_path / "two", 2 * num_batches)
    assert epoch == two_epochs == one_shape + num_shapes - 1
