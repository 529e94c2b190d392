"""Translation that starts from a pre-trained encoder."""

import numpy as np
import pytest

from tests.tiny_bert import tiny_bert_config
from tests.tiny_run import tiny_config
from transformer_jax.errors import UserError
from transformer_jax.models.bert_as_encoder import encoder_params
from transformer_jax.runs import experiment
from transformer_jax.runs.trained_run import load_run


@pytest.fixture(scope="module")
def pretrained(text, tmp_path_factory):
    directory = tmp_path_factory.mktemp("pretrained") / "run"
    before = tiny_bert_config(
        "masked_language_model", num_steps=1, every=1, max_positions=80
    )
    data = tiny_config(text, num_steps=1).data
    before.data.update(
        directory=data.directory,
        train_source=data.train_source,
        validation_source=data.validation_source,
        vocab_size=data.vocab_size,
        max_length=63,
    )
    experiment.train(before, directory)
    return directory


def _config(text, pretrained):
    before = load_run(pretrained).config.model
    config = tiny_config(text, num_steps=1)
    config.model.update(
        num_encoder_layers=before.num_layers,
        num_decoder_layers=1,
        d_model=before.d_model,
        d_ff=before.d_ff,
        num_heads=before.num_heads,
        activation="gelu",
        norm_epsilon=before.norm_epsilon,
        positions="learned",
        max_positions=before.max_positions,
        norm_embeddings=True,
        use_attention_bias=True,
    )
    config.data.max_length = 63
    config.optimizer.factor = 0.0
    config.training.init_from = str(pretrained)
    return config


def test_translation_starts_from_the_encoder_of_a_bert(text, pretrained, tmp_path):
    experiment.train(_config(text, pretrained), tmp_path / "run")
    run, before = load_run(tmp_path / "run"), load_run(pretrained)
    assert run.source_tokenizer.fingerprint == before.source_tokenizer.fingerprint
    expected = encoder_params(before.params)
    np.testing.assert_allclose(
        run.params["source_positions"]["embedding"],
        expected["source_positions"]["embedding"],
        atol=1e-6,
    )
    layer = run.params["encoder"]["layer_0"]["feed_forward"]["expand"]["kernel"]
    theirs = expected["encoder"]["layer_0"]["feed_forward"]["expand"]["kernel"]
    np.testing.assert_array_equal(layer, theirs)
    assert run.translator().translate(["A dog."])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm_embeddings": False}, "differs .* in source_norm/bias, source_norm"),
        ({"num_encoder_layers": 2}, "differs .* in encoder/layer_1/feed_forward"),
        ({"norm_position": "pre"}, "differs .* in encoder/norm/bias"),
        ({"activation": "relu"}, "differs .* in activation[.]"),
    ],
)
def test_another_encoder_is_refused(text, pretrained, tmp_path, changes, message):
    config = _config(text, pretrained)
    config.model.update(changes)
    with pytest.raises(UserError, match=message):
        experiment.train(config, tmp_path / "run")
