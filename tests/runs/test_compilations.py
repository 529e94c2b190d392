import pytest

from benchmarks.workloads import CompileLog
from tests.tiny_run import tiny_config, write_text
from transformer_jax.runs import experiment
from transformer_jax.runs.corpus import prepare_corpus
from transformer_jax.runs.directory import RunDirectory


def _config(text, num_steps):
    config = tiny_config(text, num_steps)
    config.data.max_batch_shapes = 3
    config.evaluation.eval_every_steps = 1
    config.checkpoints.save_every_steps = 1
    return config


def _count(text, workdir, num_steps):
    """Return how many programs a run of so many steps compiles."""
    log = CompileLog()
    experiment.train(_config(text, num_steps), workdir)
    return len(log.seconds)


@pytest.mark.slow
def test_an_epoch_compiles_a_step_for_each_shape_and_the_next_one_nothing(tmp_path):
    text = write_text(tmp_path / "text")
    _count(text, tmp_path / "first", 1)  # Small programs that runs share.
    plan = prepare_corpus(_config(text, 1), RunDirectory(tmp_path / "first")).plan
    num_batches, num_shapes = plan.batches_per_epoch, len(plan.shapes)
    assert num_shapes == 3 and num_batches > 3
    one_shape = _count(text, tmp_path / "step", 1)
    epoch = _count(text, tmp_path / "epoch", num_batches)
    two_epochs = _count(text, tmp_path / "two", 2 * num_batches)
    assert epoch == two_epochs == one_shape + num_shapes - 1
