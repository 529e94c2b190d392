"""Text alone of TensorFlow Datasets, for pre-training."""

import numpy as np
import pytest

from transformer_jax.data.sources.tfds_pairs import TfdsSettings, open_tfds
from transformer_jax.data.sources.tfds_without_tensorflow import import_tfds
from transformer_jax.data.text_source import OpenRequest
from transformer_jax.errors import UserError


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A data set as lm1b's: each example a text, and a number."""
    tfds = import_tfds()

    class Lines(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            text = tfds.features.Text()
            features = tfds.features.FeaturesDict({"text": text, "number": np.int64})
            return tfds.core.DatasetInfo(builder=self, features=features)

        def _split_generators(self, manager):
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            for number in range(200):
                yield number, {"text": f"Line {number}.", "number": number}

    root = tmp_path_factory.mktemp("lines")
    builder = Lines(data_dir=str(root), file_format="array_record")
    builder.download_and_prepare()
    return str(builder.data_path)


def _open(directory, *languages):
    settings = TfdsSettings(directory=directory)
    return open_tfds(settings, OpenRequest(languages, 0, None))


def test_the_only_text_is_taken_whatever_it_is_called(directory):
    splits = _open(directory, "en")
    # A hundredth of the training text validates.
    assert {split: len(texts) for split, texts in splits.items()} == {
        "train": 198,
        "validation": 2,
    }
    texts = [text for split in splits.values() for text in split.all_texts()]
    assert sorted(texts) == sorted((f"Line {number}.",) for number in range(200))


def test_a_text_alone_is_no_translation(directory):
    with pytest.raises(UserError, match="is not a translation data set"):
        _open(directory, "en", "de")
