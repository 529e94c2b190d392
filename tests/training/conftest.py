"""A folder of checkpoints."""

import pytest

from transformer_jax.training.checkpoints import CheckpointStore


@pytest.fixture
def store(tmp_path):
    with CheckpointStore(tmp_path, keep_params=3) as store:
        yield store
