import jax
import numpy as np
import pytest

from transformer_jax.errors import UserError
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.parameters import param_shapes
from transformer_jax.models.transformer import Transformer


def _config(**changes):
    sizes = {"source_vocab_size": 37000, "target_vocab_size": 37000}
    return TransformerConfig(**(sizes | changes))


def _count(**changes):
    model = Transformer(_config(**changes))
    params = param_shapes(model)
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def test_options_add_the_parameters_that_they_name():
    one_layer = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    base = _count(**one_layer)

    def added(**changes):
        return _count(**one_layer, **changes) - base

    assert added(norm_position="pre") == 2 * 2 * 512
    assert added(use_logits_bias=True) == 37000
    assert added(tied_embeddings="target") == 37000 * 512
    assert added(tied_embeddings="none") == 2 * 37000 * 512
    assert added(positions="learned") == 2 * 1024 * 512
    assert added(norm_embeddings=True) == 2 * 2 * 512
    assert added(use_attention_bias=True) == 3 * 4 * 512
    assert added(vocab_multiple=128) == 120 * 512


def test_depths_follow_from_the_width_unless_they_are_given():
    assert (_config().key_depth, _config().value_depth) == (64, 64)
    config = _config(d_k=16, num_heads=4)
    assert (config.key_depth, config.value_depth) == (16, 128)
    assert _config(num_heads=7, d_k=3, d_v=5).key_depth == 3


def test_the_vocabulary_is_padded_up_to_a_multiple():
    config = _config(vocab_multiple=128)
    assert config.source_vocab_width == config.target_vocab_width == 37120
    assert _config().target_vocab_width == 37000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_heads": 7}, "num_heads=7 does not divide.*512.*give both"),
        ({"num_heads": 7, "d_k": 5}, "num_heads=7 does not divide"),
        ({"d_model": 511, "num_heads": 7}, "d_model=511 is odd.*learned"),
        ({"source_vocab_size": 32000}, "one vocabulary.*32000.*37000.*target"),
        ({"d_ff": 0}, "d_ff=0: expected at least 1"),
        ({"num_encoder_layers": -1}, "num_encoder_layers=-1"),
        ({"dropout_rate": 1.0}, "dropout_rate=1.0: expected at least 0 and below 1"),
        ({"attention_dropout_rate": -0.1}, "attention_dropout_rate=-0.1"),
        ({"norm_epsilon": 0.0}, "norm_epsilon=0.0"),
        ({"activation": "tanh"}, "activation='tanh'.*relu, gelu, swish"),
        ({"attention_scaling": "d_k"}, "attention_scaling='d_k'.*sqrt_d_k, none"),
        ({"norm_position": "none"}, "norm_position='none'.*post, pre"),
        ({"tied_embeddings": True}, "tied_embeddings=True.*all, target, none"),
        ({"dtype": "float16"}, "dtype='float16'.*bfloat16"),
        ({"dtype": "half a float"}, "dtype='half a float'"),
    ],
)
def test_sizes_that_do_not_fit_are_explained(changes, message):
    with pytest.raises(UserError, match=message):
        _config(**changes)


def test_a_type_may_be_given_by_name():
    assert np.dtype(_config(dtype="bfloat16").dtype).name == "bfloat16"
