import jax
import pytest

from tests.models import small
from transformer_jax.models.parameters import init_params, param_axes
from transformer_jax.models.transformer import Transformer
from transformer_jax.sharding.mesh import make_mesh
from transformer_jax.sharding.rules import param_shardings


@pytest.fixture
def split():
    """Return what one of two devices holds of each parameter that they share."""
    model = Transformer(small.config())
    params = jax.eval_shape(lambda: init_params(model, jax.random.key(0)))

    def split(**options):
        mesh = make_mesh(jax.devices()[:2])
        shardings = param_shardings(param_axes(model), mesh, **options)
        pairs = zip(
            jax.tree_util.tree_leaves_with_path(params),
            jax.tree.leaves(shardings),
            strict=True,
        )
        return {
            jax.tree_util.keystr(path, simple=True, separator="/"): (
                sharding.shard_shape(leaf.shape)
            )
            for (path, leaf), sharding in pairs
            if not sharding.is_fully_replicated
        }

    return split


def test_every_parameter_of_the_model_is_whole_on_every_device(split):
    assert split() == {}


def test_a_rule_splits_the_axes_that_it_names_and_no_others(split):
    # d_ff = 20 in every layer's feed-forward; d_model = 12 stays whole.
    expected = {}
    for layer in ("encoder/layer_0", "decoder/layer_0", "decoder/layer_1"):
        expected |= {
            f"{layer}/feed_forward/expand/kernel": (12, 10),
            f"{layer}/feed_forward/expand/bias": (10,),
            f"{layer}/feed_forward/contract/kernel": (10, 12),
        }
    assert split(rules=(("d_ff", "data"),)) == expected
