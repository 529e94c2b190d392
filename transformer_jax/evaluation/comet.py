"""COMET, a learnt score, where its package is installed and its model on disk.

COMET (Rei et al. 2020) reads source, translation and reference with a multilingual
encoder. Nothing is ever downloaded: the checkpoint is named by its path, and the
encoder that it builds on is looked up in Hugging Face's cache alone.

It has been run with unbabel-comet 2.2.7 and a small model of random weights, which
shows that arguments and results pass; not with a published model, so that no score is
vouched for.
"""

import dataclasses
import logging
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from transformer_jax.errors import UserError
from transformer_jax.files import as_path

# The package asks for NumPy below 2, which JAX no longer runs with: the extra brings
# what it needs, and the package itself comes without its requirements.
_INSTALL = (
    "pip install 'transformer-jax[comet]' && pip install --no-deps "
    "'unbabel-comet>=2.2.3'"
)
# Where a model's folder holds its weights.
_WEIGHTS = pathlib.PurePath("checkpoints/model.ckpt")
_SENTENCES_AT_ONCE = 16


@dataclasses.dataclass(frozen=True)
class CometScore:
    """COMET of one set of translations.

    Attributes:
      value: mean over the sentences, usually between 0 and 1; not in per cent.
      signature: the model and the version of the package.
    """

    value: float
    signature: str


@dataclasses.dataclass(frozen=True)
class CometMetric:
    """A model that has been read.

    Attributes:
      name: of the checkpoint.
      version: of the package.
      model: the package's own.
    """

    name: str
    version: str
    model: Any

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        sources: Sequence[str],
    ) -> CometScore:
        """Score translations, one a line, on the first GPU or else on the CPU."""
        samples = [
            {"src": source, "mt": hypothesis, "ref": reference}
            for source, hypothesis, reference in zip(
                sources, hypotheses, references, strict=True
            )
        ]
        result = self.model.predict(
            samples,
            batch_size=_SENTENCES_AT_ONCE,
            # One device of whatever kind there is: a CPU counts as one.
            gpus=1,
            accelerator="auto",
            # Workers would be forked, and JAX's threads are running.
            num_workers=0,
            progress_bar=False,
        )
        signature = f"model:{self.name}|version:{self.version}"
        return CometScore(float(result.system_score), signature)


def load_comet(checkpoint: str | os.PathLike[str]) -> CometMetric:
    """Read a COMET model from disk, without a look at the network.

    Args:
      checkpoint: model.ckpt in the folder `checkpoints` of a model, beside which lies
        hparams.yaml, as the model is published; or the model's folder.

    Raises:
      UserError: if the package or a file is missing.
    """
    weights = _find_weights(as_path(checkpoint))
    # Read once, when the package is imported.
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    try:
        import comet
    except ImportError as error:
        raise UserError(
            f"--comet needs the package unbabel-comet, which cannot be imported "
            f"({error}). Install it with the extra: {_INSTALL}"
        ) from error
    # The trainer that it predicts with has its devices to report, and advice to give.
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    try:
        model = comet.load_from_checkpoint(str(weights), local_files_only=True)
    except Exception as error:
        # An encoder that is not in the cache shows as errors of several types, none of
        # which says so: an AttributeError in a tokenizer, for one.
        raise UserError(
            f"The COMET model {weights} cannot be read without a network "
            f"({type(error).__name__}: {error}). The encoder that its hparams.yaml "
            "names as pretrained_model must be in Hugging Face's cache; put it there, "
            "or set HF_HOME to a cache that has it."
        ) from error
    return CometMetric(_name(weights), comet.__version__, model)


def _find_weights(path: pathlib.Path) -> pathlib.Path:
    """Return the path of the weights, after making sure of both files."""
    weights = path / _WEIGHTS if path.is_dir() else path
    if not weights.is_file():
        raise UserError(
            f"There is no COMET model at {path}: {weights} is not a file. Give the "
            f"folder of a model on disk, which holds hparams.yaml and {_WEIGHTS}; "
            "nothing is downloaded."
        )
    hparams = weights.absolute().parent.parent / "hparams.yaml"
    if not hparams.is_file():
        raise UserError(
            f"The COMET model {weights} is not whole: {hparams} is missing. Copy the "
            f"whole folder of the model, hparams.yaml and {_WEIGHTS}."
        )
    return weights


def _name(weights: pathlib.Path) -> str:
    """Return what the model is called: its folder, or its name in a cache."""
    folders = weights.absolute().parents
    for folder in folders:
        if folder.name.startswith("models--"):
            return folder.name.split("--")[-1]
    return folders[1].name
